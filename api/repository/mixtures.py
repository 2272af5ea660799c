"""Mixtures and their names: what is published stays, a name is moved by whoever knows what it replaces."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Never

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.repository.database import Database, insert_missing
from api.repository.errors import RepositoryError
from api.repository.models import MixtureRow, MoveRow, NameRow, TableRow
from api.repository.objects import Objects
from api.repository.records import Bundle, Change, MixtureRecord, Move, Published
from api.repository.refs import check_name, read_ref, write_digest


class Mixtures:
    """The part of the repository that keeps mixtures."""

    def __init__(self, database: Database, objects: Objects) -> None:
        self.database = database
        self.objects = objects

    def publish(self, name: str, bundle: Bundle, *, expected: str | None, if_new: bool, by: str) -> Published:
        """Keep a mixture and let a name point to it, in one transaction.

        expected: the digest (hex) that the name points to now; needed to move it
        if_new:   only where the name is not there
        by:       whose token it was

        A name that points there already is left as it is, whatever was expected: sending the same again is safe.
        Raises RepositoryError: `name-invalid`, `digest-required`, `name-conflict` with `current` among its facts.
        """
        check_name(name)
        row, tables = self._kept(bundle, by)
        with self.database.writing() as session:
            if insert_missing(session, MixtureRow, row):
                for table in tables:
                    insert_missing(session, TableRow, table)
            return _point(session, name, bundle.digest, expected=expected, if_new=if_new, by=by)

    def get(self, ref: str) -> MixtureRecord:
        """A mixture by `name`, `name@sha256:HEX` or `sha256:HEX`. Raises `ref-invalid`, `unknown-mixture`.

        A name goes with every digest that it has ever pointed to, and with no other. A digest alone gets a name
        that pointed to it, the first in order.
        """
        asked = read_ref(ref)
        with self.database.reading() as session:
            name: str | None
            digest: str | None
            if isinstance(asked, str):
                first = select(MoveRow.name).where(MoveRow.to_digest == asked).order_by(MoveRow.name)
                name, digest = session.scalar(first.limit(1)), asked
            elif asked.digest is None:
                name, digest = asked.name, session.scalar(select(NameRow.digest).where(NameRow.name == asked.name))
            else:
                moved = select(MoveRow.to_digest).where(MoveRow.name == asked.name, MoveRow.to_digest == asked.digest)
                name, digest = asked.name, session.scalar(moved.limit(1))
            row = None if digest is None else session.get(MixtureRow, digest)
            if row is None:
                raise RepositoryError(f"there is no mixture {ref!r}", code="unknown-mixture", ref=ref)
            return _record(row, name)

    def bundle(self, digest: str) -> Bundle:
        """All that is kept of a mixture. Raises `unknown-mixture`, `object-missing`, `object-damaged`."""
        with self.database.reading() as session:
            row = session.get(MixtureRow, digest)
            if row is None:
                asked = write_digest(digest)
                raise RepositoryError(f"there is no mixture {asked!r}", code="unknown-mixture", ref=asked)
            tables = session.scalars(select(TableRow).where(TableRow.digest == digest).order_by(TableRow.name))
            contents = {table.name: table.content for table in tables}
        return Bundle(
            digest=row.digest,
            mixture=row.mixture,
            steps=row.steps,
            sequences=row.sequences,
            tokens=row.tokens,
            domains=row.domains,
            spec=self.objects.get(row.spec),
            tables={name: self.objects.get(content) for name, content in contents.items()},
            lock=self.objects.get(row.lock),
            plan=self.objects.get(row.plan),
        )

    def lock(self, digest: str) -> bytes:
        """The lock of a mixture alone. Raises as `bundle` does."""
        with self.database.reading() as session:
            row = session.get(MixtureRow, digest)
        if row is None:
            asked = write_digest(digest)
            raise RepositoryError(f"there is no mixture {asked!r}", code="unknown-mixture", ref=asked)
        return self.objects.get(row.lock)

    def names(self, *, after: str | None = None, limit: int) -> list[MixtureRecord]:
        """The mixtures that names point to now, in order of name, from behind `after`."""
        asked = select(NameRow.name, MixtureRow).join(MixtureRow, MixtureRow.digest == NameRow.digest)
        if after is not None:
            asked = asked.where(NameRow.name > after)
        with self.database.reading() as session:
            rows = session.execute(asked.order_by(NameRow.name).limit(limit)).all()
            return [_record(row, name) for name, row in rows]

    def name_history(self, name: str, *, after: int = 0, limit: int) -> list[Move]:
        """What a name has pointed to, oldest first, from behind revision `after`.

        Raises `name-invalid`, `unknown-mixture`.
        """
        check_name(name)
        asked = select(MoveRow).where(MoveRow.name == name, MoveRow.revision > after)
        with self.database.reading() as session:
            if session.get(NameRow, name) is None:
                raise RepositoryError(f"there is no mixture {name!r}", code="unknown-mixture", ref=name)
            rows = session.scalars(asked.order_by(MoveRow.revision).limit(limit)).all()
            return [Move(row.name, row.revision, row.from_digest, row.to_digest, row.at, row.by) for row in rows]

    def _kept(self, bundle: Bundle, by: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Write the bundle's bytes, so that they are on the disk before a row names them; gives the rows."""
        put = self.objects.put
        row: dict[str, object] = {
            "digest": bundle.digest,
            "mixture": bundle.mixture,
            "steps": bundle.steps,
            "sequences": bundle.sequences,
            "tokens": bundle.tokens,
            "domains": bundle.domains,
            "spec": put(bundle.spec),
            "lock": put(bundle.lock),
            "plan": put(bundle.plan),
            "at": datetime.now(UTC),
            "by": by,
        }
        tables: list[dict[str, object]] = [
            {"digest": bundle.digest, "name": name, "content": put(data)} for name, data in bundle.tables.items()
        ]
        return row, tables


def _point(session: Session, name: str, digest: str, *, expected: str | None, if_new: bool, by: str) -> Published:
    """Let a name point to a digest, having waited for whoever is moving it too."""
    at = datetime.now(UTC)
    held = select(NameRow).where(NameRow.name == name).with_for_update()
    row = session.scalar(held)
    if row is None and expected is None:
        first = {"name": name, "digest": digest, "revision": 1, "at": at}
        if insert_missing(session, NameRow, first):
            session.add(MoveRow(name=name, revision=1, from_digest=None, to_digest=digest, at=at, by=by))
            return Published(name, digest, Change.CREATED)
        row = session.scalar(held)  # another was first, and has committed
    if row is None:
        _conflict(name, "is not there: it points to nothing that could be replaced", None)
    if row.digest == digest:
        return Published(name, digest, Change.UNCHANGED)
    current = write_digest(row.digest)
    if if_new:
        _conflict(name, f"is there already, and points to {current}", current)
    if expected is None:
        raise RepositoryError(
            f"the name {name!r} points to another mixture: moving it needs the digest that it replaces",
            code="digest-required",
            hint=f'If-Match: "{current}"',
            name=name,
            current=current,
        )
    if expected != row.digest:
        _conflict(name, f"points to {current}, not to {write_digest(expected)}", current)
    replaced = row.digest
    row.digest, row.revision, row.at = digest, row.revision + 1, at
    session.add(MoveRow(name=name, revision=row.revision, from_digest=replaced, to_digest=digest, at=at, by=by))
    return Published(name, digest, Change.MOVED, replaced)


def _conflict(name: str, message: str, current: str | None) -> Never:
    hint = "look at what it points to now, then say that digest" if current else "leave out the digest that it replaces"
    raise RepositoryError(f"the name {name!r} {message}", code="name-conflict", hint=hint, name=name, current=current)


def _record(row: MixtureRow, name: str | None) -> MixtureRecord:
    return MixtureRecord(
        digest=row.digest,
        name=name,
        mixture=row.mixture,
        steps=row.steps,
        sequences=row.sequences,
        tokens=row.tokens,
        domains=row.domains,
        published=row.at,
        by=row.by,
    )
