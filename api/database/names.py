"""Names: what they point to, how they are moved, and the history that says so. Within transactions of others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Never

from sqlalchemy import select
from sqlalchemy.orm import Session

from mixture.api.database.database import insert_missing
from mixture.api.database.errors import RepositoryError
from mixture.api.database.models import MoveRow, NameRow
from mixture.api.database.records import Change, Source
from mixture.api.database.refs import write_digest

_BUILTIN, _PUBLISHED = Source.BUILTIN.value, Source.PUBLISHED.value


def last_move(session: Session, name: str) -> MoveRow:
    """The newest line of a name's history."""
    return session.scalars(select(MoveRow).where(MoveRow.name == name).order_by(MoveRow.revision.desc()).limit(1)).one()


def hidden(row: NameRow, digest: str) -> str | None:
    """What was published under a name, where a folder's mixture is another one."""
    return row.digest if row.source == _PUBLISHED and row.digest != digest else None


def lead(session: Session, name: str, digest: str) -> str | None:
    """Let the history of a name say that a folder's mixture stands under it; gives what that hides."""
    at = datetime.now(UTC)
    first = {"name": name, "digest": digest, "revision": 1, "at": at, "source": _BUILTIN}
    if insert_missing(session, NameRow, first):
        _add_move(session, name, 1, None, digest, at=at, by="", source=_BUILTIN)
        return None
    row = session.scalars(select(NameRow).where(NameRow.name == name).with_for_update()).one()
    last = last_move(session, name)
    if last.to_digest != digest:
        row.revision += 1
        _add_move(session, name, row.revision, last.to_digest, digest, at=at, by="", source=_BUILTIN)
        if row.source == _BUILTIN:
            row.digest, row.at = digest, at
    return hidden(row, digest)


def decide(row: NameRow | None, name: str, digest: str, *, expected: str | None, if_new: bool) -> Change:
    """What publishing does to a name that is as `row` says. Raises `name-conflict`, `digest-required`."""
    if row is None or row.source == _BUILTIN:
        if expected is not None:
            _conflict(name, "is not there: it points to nothing that could be replaced", None)
        return Change.CREATED
    if row.digest == digest:
        return Change.UNCHANGED
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
    return Change.MOVED


def point(
    session: Session, name: str, digest: str, *, expected: str | None, if_new: bool, by: str
) -> tuple[Change, str | None]:
    """Let a name point to a digest, having waited for whoever is moving it too; gives what it replaced."""
    at = datetime.now(UTC)
    held = select(NameRow).where(NameRow.name == name).with_for_update()
    row = session.scalar(held)
    if row is None and expected is None:
        first = {"name": name, "digest": digest, "revision": 1, "at": at, "source": _PUBLISHED}
        if insert_missing(session, NameRow, first):
            _add_move(session, name, 1, None, digest, at=at, by=by, source=_PUBLISHED)
            return Change.CREATED, None
        row = session.scalar(held)  # another was first, and has committed
    change = decide(row, name, digest, expected=expected, if_new=if_new)
    assert row is not None, "a name that is not there was made, or refused"
    if change is Change.UNCHANGED:
        return change, None
    replaced = row.digest if change is Change.MOVED else None
    row.digest, row.revision, row.at, row.source = digest, row.revision + 1, at, _PUBLISHED
    _add_move(session, name, row.revision, replaced, digest, at=at, by=by, source=_PUBLISHED)
    return change, replaced


def _add_move(
    session: Session,
    name: str,
    revision: int,
    replaced: str | None,
    digest: str,
    *,
    at: datetime,
    by: str,
    source: str,
) -> None:
    move = MoveRow(name=name, revision=revision, from_digest=replaced, to_digest=digest, at=at, by=by, source=source)
    session.add(move)


def _conflict(name: str, message: str, current: str | None) -> Never:
    hint = "look at what it points to now, then say that digest" if current else "leave out the digest that it replaces"
    raise RepositoryError(f"the name {name!r} {message}", code="name-conflict", hint=hint, name=name, current=current)
