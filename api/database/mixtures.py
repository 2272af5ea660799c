"""Mixtures and their names: what is kept stays, a name is moved by whoever knows what it replaces."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from mixture.api.database.database import Database, insert_missing
from mixture.api.database.errors import RepositoryError
from mixture.api.database.models import MixtureRow, MoveRow, NameRow, TableRow
from mixture.api.database.names import decide, hidden, last_move, lead, point
from mixture.api.database.objects import Objects
from mixture.api.database.records import Bundle, MixtureRecord, Move, Published, Source
from mixture.api.database.refs import check_name, read_ref, write_digest
from mixture.names import DIGEST_MARK

AT_ONCE = 500
"""Digests that one statement asks for."""


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
        with self.database.reading() as session:
            # A refusal leaves nothing behind: it is looked for before any bytes are written, and again in the end.
            decide(session.get(NameRow, name), name, bundle.digest, expected=expected, if_new=if_new)
        row, tables = self._kept(bundle, by)
        with self.database.writing() as session:
            _insert(session, row, tables)
            change, replaced = point(session, name, bundle.digest, expected=expected, if_new=if_new, by=by)
            ours = update(MixtureRow).where(MixtureRow.digest == bundle.digest, MixtureRow.by == "")
            session.execute(ours.values(by=by, at=datetime.now(UTC)))
            text = session.get_one(MixtureRow, bundle.digest).spec
        return Published(name, bundle.digest, change, text, replaced)

    def keep(self, name: str, bundle: Bundle) -> str | None:
        """Keep a mixture that a folder of the service holds, and add it to the moves of its name where it is new there.

        What was published under the name stays as it is, under its digests; the one that the name points to, if it is
        another mixture, is given back: it can not be seen while the folder is there.
        """
        check_name(name)
        with self.database.reading() as session:
            held = session.get(NameRow, name)
            if held is not None and last_move(session, name).to_digest == bundle.digest:
                return hidden(held, bundle.digest)
        row, tables = self._kept(bundle, "")
        with self.database.writing() as session:
            _insert(session, row, tables)
            return lead(session, name, bundle.digest)

    def get(self, ref: str) -> MixtureRecord:
        """A mixture by `name`, `name@sha256:HEX` or `sha256:HEX`. Raises `ref-invalid`, `unknown-mixture`.

        A name goes with every digest that it has ever pointed to, and with no other. A digest alone gets a name
        that pointed to it, the first in order.
        """
        asked = read_ref(ref)
        # What somebody published goes before what a folder was: of the same mixture, it says when and by whom.
        moves = select(MoveRow).order_by(MoveRow.source.desc(), MoveRow.name, MoveRow.revision).limit(1)
        with self.database.reading() as session:
            if isinstance(asked, str):
                moves = moves.where(MoveRow.to_digest == asked)
            elif asked.digest is not None:
                moves = moves.where(MoveRow.name == asked.name, MoveRow.to_digest == asked.digest)
            else:
                now = select(NameRow.digest).where(NameRow.name == asked.name, NameRow.source == Source.PUBLISHED.value)
                moves = moves.where(MoveRow.name == asked.name, MoveRow.to_digest == now.scalar_subquery())
            move = session.scalar(moves)
            if move is None:
                raise RepositoryError(f"there is no mixture {ref!r}", code="unknown-mixture", ref=ref)
            row = session.get_one(MixtureRow, move.to_digest)
            return _record(row, move.name, Source(move.source))

    def digests(self, name: str, start: str, *, limit: int) -> list[str]:
        """The digests (hex) that a name has ever pointed to, of those that begin with these digits, in order."""
        of = (MoveRow.name == name, MoveRow.to_digest.startswith(start, autoescape=True))
        with self.database.reading() as session:
            found = select(MoveRow.to_digest).where(*of).distinct().order_by(MoveRow.to_digest).limit(limit)
            return list(session.scalars(found))

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

    def refs(self, digests: Collection[str]) -> dict[str, str]:
        """`NAME@sha256:HEX` of those digests (hex) that a name has led to, with the first name in order."""
        found: dict[str, str] = {}
        asked = sorted(set(digests))
        with self.database.reading() as session:
            for i in range(0, len(asked), AT_ONCE):
                of = MoveRow.to_digest.in_(asked[i : i + AT_ONCE])
                named = select(MoveRow.to_digest, func.min(MoveRow.name)).where(of).group_by(MoveRow.to_digest)
                found |= {digest: f"{name}{DIGEST_MARK}{digest}" for digest, name in session.execute(named)}
        return found

    def names(self, *, after: str | None = None, limit: int) -> list[MixtureRecord]:
        """The published mixtures that names point to now, in order of name, from behind `after`."""
        asked = select(NameRow.name, MixtureRow).join(MixtureRow, MixtureRow.digest == NameRow.digest)
        asked = asked.where(NameRow.source == Source.PUBLISHED.value)
        if after is not None:
            asked = asked.where(NameRow.name > after)
        with self.database.reading() as session:
            rows = session.execute(asked.order_by(NameRow.name).limit(limit)).all()
            return [_record(row, name, Source.PUBLISHED) for name, row in rows]

    def name_history(self, name: str, *, after: int = 0, limit: int) -> list[Move]:
        """What a name has led to, oldest first, from behind revision `after`.

        Raises `name-invalid`, `unknown-mixture`.
        """
        check_name(name)
        asked = select(MoveRow).where(MoveRow.name == name, MoveRow.revision > after)
        with self.database.reading() as session:
            if session.get(NameRow, name) is None:
                raise RepositoryError(f"there is no mixture {name!r}", code="unknown-mixture", ref=name)
            rows = session.scalars(asked.order_by(MoveRow.revision).limit(limit)).all()
            return [_move(row) for row in rows]

    def last_moves(self, name: str, *, limit: int) -> list[Move]:
        """What a name has led to, the newest first; nothing of a name that is not there."""
        asked = select(MoveRow).where(MoveRow.name == name).order_by(MoveRow.revision.desc()).limit(limit)
        with self.database.reading() as session:
            return [_move(row) for row in session.scalars(asked)]

    def _kept(self, bundle: Bundle, by: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Write the bundle's bytes, so that they are on the disk before a row names them; gives the rows.

        Where the mixture is kept already, the bytes that it has stay; those among them that are damaged are mended.
        """
        files = {"spec": bundle.spec, "lock": bundle.lock, "plan": bundle.plan}
        objects = {data: hashlib.sha256(data).hexdigest() for data in (*files.values(), *bundle.tables.values())}
        named = self._objects_of(bundle.digest)
        for data, digest in objects.items():
            if not named or digest in named:
                self.objects.put(data)
        row: dict[str, object] = {
            "digest": bundle.digest,
            "mixture": bundle.mixture,
            "steps": bundle.steps,
            "sequences": bundle.sequences,
            "tokens": bundle.tokens,
            "domains": bundle.domains,
            **{name: objects[data] for name, data in files.items()},
            "at": datetime.now(UTC),
            "by": by,
        }
        tables: list[dict[str, object]] = [
            {"digest": bundle.digest, "name": name, "content": objects[data]} for name, data in bundle.tables.items()
        ]
        return row, tables

    def _objects_of(self, digest: str) -> set[str]:
        """The digests of what is kept of a mixture; nothing where it is not there."""
        with self.database.reading() as session:
            row = session.get(MixtureRow, digest)
            tables = session.scalars(select(TableRow.content).where(TableRow.digest == digest))
            return set() if row is None else {row.spec, row.lock, row.plan, *tables}


def _insert(session: Session, row: dict[str, object], tables: list[dict[str, object]]) -> None:
    """Add a mixture with its tables, unless it is there."""
    if insert_missing(session, MixtureRow, row):
        for table in tables:
            insert_missing(session, TableRow, table)


def _move(row: MoveRow) -> Move:
    by = row.by if row.source == Source.PUBLISHED.value else None
    return Move(row.name, row.revision, row.from_digest, row.to_digest, row.at, by)


def _record(row: MixtureRow, name: str, source: Source) -> MixtureRecord:
    return MixtureRecord(
        digest=row.digest,
        name=name,
        mixture=row.mixture,
        steps=row.steps,
        sequences=row.sequences,
        tokens=row.tokens,
        domains=row.domains,
        source=source,
        published=row.at,
        by=row.by,
    )
