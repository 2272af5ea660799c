"""Runs and their logs: only added to, numbered without gaps, so who has read to a number has missed nothing."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session

from mixture.api.database.database import Database, insert_missing
from mixture.api.database.errors import RepositoryError
from mixture.api.database.models import MixtureRow, MoveRow, ProgressRow, RunRow
from mixture.api.database.records import Losses, NextLock, ProgressEntry, RunRecord
from mixture.api.database.refs import read_digest
from mixture.names import DIGEST_MARK as MARK

_ID = re.compile(r"[0-9a-f]{16}")
PAGE_BYTES = 4 * 2**20
"""Losses that are read at a time, as JSON: 1,000 reports of 2,000 domains are 100 MB."""
LOSS_BYTES = 24
"""Of a loss in JSON, without the name of its domain."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reported:
    """An entry of the log, and whether this report added it; a report that was sent before did not."""

    entry: ProgressEntry
    added: bool


@dataclass(frozen=True, slots=True)
class Registered:
    """A run, and whether it is new; one that was registered before with the same key is not."""

    run: RunRecord
    is_new: bool


class Runs:
    """The part of the repository that keeps runs."""

    database: Database

    def create_run(self, *, mixture: str, digest: str, name: str | None, by: str, key: str | None = None) -> Registered:
        """Register a run of the mixture with this lock digest (hex); `mixture` is its reference, NAME@sha256:DIGEST.

        With a key, the same run registered again by the same is the one that is there already; of a mixture whose name
        has moved meanwhile too. Raises `run-conflict` where the key is that of a run with another name or mixture.
        """
        values = {
            "id": secrets.token_hex(8),
            "name": name,
            "mixture": mixture,
            "digest": digest,
            "last_seq": 0,
            "at": datetime.now(UTC),
            "by": by,
            "key": key,
        }
        with self.database.writing() as session:
            is_new = insert_missing(session, RunRow, values)
            which = RunRow.id == values["id"] if is_new else and_(RunRow.by == by, RunRow.key == key)
            found = _run(*session.execute(_WITH_LAST.where(which)).one())
        if not is_new and (found.name != name or _name_of(found.mixture) != _name_of(mixture)):
            raise RepositoryError(
                f"the key {key!r} is that of another run: {found.name!r} of {found.mixture}",
                code="run-conflict",
                hint="another key registers another run",
                run=found.id,
            )
        return Registered(found, is_new)

    def runs(self, *, before: int | None = None, limit: int, mixture: str | None = None) -> list[RunRecord]:
        """Runs with their newest report, newest first, those registered before number `before`: up to `limit`.

        There are fewer where their losses are long, and one where there is one: what is read ends where nothing comes.

        mixture: only those of a mixture: NAME, NAME@sha256:DIGEST, or sha256:DIGEST
        """
        return self._listed(None if mixture is None else _is_of(mixture), before, limit)

    def runs_ever_of(self, mixture: str, *, before: int | None = None, limit: int) -> list[RunRecord]:
        """The same of runs that are of a mixture, or went on from it under another lock."""
        return self._listed(or_(_is_of(mixture), RunRow.number.in_(_were_of(mixture))), before, limit)

    def _listed(self, condition: ColumnElement[bool] | None, before: int | None, limit: int) -> list[RunRecord]:
        asked = _WITH_LAST if before is None else _WITH_LAST.where(RunRow.number < before)
        if condition is not None:
            asked = asked.where(condition)
        asked = asked.order_by(RunRow.number.desc()).limit(limit)
        with self.database.reading() as session, closing(session.execute(asked, execution_options=_IN_PARTS)) as rows:
            return list(_page((_run(*row) for row in rows), last=lambda run: run.last))

    def run(self, run_id: str) -> RunRecord:
        """A run with its newest report. Raises `unknown-run`."""
        _check_id(run_id)
        with self.database.reading() as session:
            found = session.execute(_WITH_LAST.where(RunRow.id == run_id)).one_or_none()
            if found is None:
                raise _unknown(run_id)
            return _run(*found)

    def add_progress(
        self,
        run_id: str,
        *,
        step: int,
        loss: Losses | None,
        key: str | None,
        by: str,
        lock: NextLock | None = None,
    ) -> Reported:
        """Add to a run's log. With a key, the same report sent again is the entry that is there already.

        lock: what the run goes on under from here on, None: what it went on under before

        Raises `unknown-run`, `progress-conflict` where step and key are there with another loss, `run-conflict` where
        another report has changed the lock meanwhile, and `history-differs` where the run has read too far for it.
        """
        _check_id(run_id)
        with self.database.writing() as session:
            # Reports of one run take turns here, so numbers have no gaps and appear in order.
            run = session.scalar(select(RunRow).where(RunRow.id == run_id).with_for_update())
            if run is None:
                raise _unknown(run_id)
            known = None if key is None else _with_key(session, run.number, step, key)
            if known is not None:
                return Reported(_entry(_same(known, loss)), added=False)
            if lock is not None:
                _take(session, run, lock)
            run.last_seq += 1
            row = ProgressRow(
                run=run.number,
                seq=run.last_seq,
                step=step,
                loss=None if loss is None else dict(loss),
                key=key,
                at=datetime.now(UTC),
                by=by,
                lock=None if lock is None else lock.digest,
                lock_before=None if lock is None else lock.before,
            )
            session.add(row)
            session.flush()
            return Reported(_entry(row), added=True)

    def progress(self, run_id: str, *, after: int = 0, limit: int) -> list[ProgressEntry]:
        """A run's log in order, from behind number `after`: up to `limit` reports, fewer where their losses are long.

        There is one where the log has one: what is read ends where nothing comes. Raises `unknown-run`.
        """
        _check_id(run_id)
        with self.database.reading() as session:
            number = session.scalar(select(RunRow.number).where(RunRow.id == run_id))
            if number is None:
                raise _unknown(run_id)
            asked = select(ProgressRow).where(ProgressRow.run == number, ProgressRow.seq > after)
            return _entries(session, asked.order_by(ProgressRow.seq).limit(limit))

    def newest_progress(self, run_id: str, *, limit: int) -> list[ProgressEntry]:
        """The end of a run's log, in order: up to `limit` reports, fewer where their losses are long."""
        _check_id(run_id)
        asked = select(ProgressRow).join(RunRow, RunRow.number == ProgressRow.run).where(RunRow.id == run_id)
        with self.database.reading() as session:
            return _entries(session, asked.order_by(ProgressRow.seq.desc()).limit(limit))[::-1]

    def lock_changes(self, run_id: str, *, limit: int) -> list[ProgressEntry]:
        """The last reports with which a run went on under another lock, in order: fewer where their losses are long.

        Raises `unknown-run`.
        """
        _check_id(run_id)
        asked = select(ProgressRow).join(RunRow, RunRow.number == ProgressRow.run)
        asked = asked.where(RunRow.id == run_id, ProgressRow.lock.is_not(None))
        with self.database.reading() as session:
            return _entries(session, asked.order_by(ProgressRow.seq.desc()).limit(limit))[::-1]

    def last_seqs(self, run_ids: Collection[str]) -> dict[str, int]:
        """The last number of each run's log: one question for all runs that are watched."""
        with self.database.reading() as session:
            asked = select(RunRow.id, RunRow.last_seq).where(RunRow.id.in_(run_ids))
            return {row.id: row.last_seq for row in session.execute(asked)}


_WITH_LAST = (
    select(RunRow, ProgressRow, MixtureRow.steps)
    .outerjoin(ProgressRow, and_(ProgressRow.run == RunRow.number, ProgressRow.seq == RunRow.last_seq))
    .outerjoin(MixtureRow, MixtureRow.digest == RunRow.digest)
)


_IN_PARTS = {"yield_per": 16}
"""Rows are read as they are taken: what a page has no room for is not read."""


def _entries(session: Session, asked: Select[ProgressRow]) -> list[ProgressEntry]:
    """The reports that are asked for, as many as a page has room for."""
    with closing(session.scalars(asked, execution_options=_IN_PARTS)) as rows:
        return list(_page(map(_entry, rows), last=lambda entry: entry))


def _page(items: Iterable[T], *, last: Callable[[T], ProgressEntry | None]) -> Iterator[T]:
    """The items up to the one whose report fills a page. last: the report that an item holds"""
    size = 0
    for item in items:
        yield item
        entry = last(item)
        size += sum(len(domain) + LOSS_BYTES for domain in (entry.loss if entry else None) or ())
        if size >= PAGE_BYTES:
            return


def _is_of(mixture: str) -> ColumnElement[bool]:
    digest = read_digest(mixture)
    if digest is not None:
        return RunRow.digest == digest
    # Not LIKE, which tells no capitals from small letters in SQLite, and does in PostgreSQL.
    marked = f"{mixture}{MARK}"
    return or_(RunRow.mixture == mixture, func.substr(RunRow.mixture, 1, len(marked)) == marked)


def _were_of(mixture: str) -> Select[int]:
    """Numbers of runs that have read a lock of a mixture before their own: by its digest, or one that a name led to."""
    digest = read_digest(mixture)
    if digest is not None:
        return select(ProgressRow.run).where(ProgressRow.lock_before == digest)
    name, _, pinned = mixture.partition(MARK)
    asked = select(ProgressRow.run).join(MoveRow, MoveRow.to_digest == ProgressRow.lock_before)
    asked = asked.where(MoveRow.name == name)
    return asked.where(ProgressRow.lock_before == pinned) if pinned else asked


def _take(session: Session, run: RunRow, lock: NextLock) -> None:
    """Let a run go on under another lock. Raises `run-conflict`, `history-differs`."""
    if run.digest != lock.before:
        raise RepositoryError(
            f"the run has come to read another lock meanwhile, {run.digest}",
            code="run-conflict",
            hint="send it again: it is compared with that one then",
            run=run.id,
        )
    asked = select(ProgressRow.step).where(ProgressRow.run == run.number, ProgressRow.seq == run.last_seq)
    step = session.scalar(asked) or 0
    if step > lock.parts_at:
        raise RepositoryError(
            f"the run has done {step:,} steps, and the lock {lock.digest} reads something else than the run from step"
            f" {lock.parts_at:,} on",
            code="history-differs",
            hint="a run that went back to a checkpoint reports that one's step first, and then the other lock",
            run=run.id,
            step=step,
            parts_at=lock.parts_at,
        )
    run.mixture, run.digest = lock.mixture, lock.digest


def _name_of(ref: str) -> str:
    return ref.partition(MARK)[0]


def _with_key(session: Session, run: int, step: int, key: str) -> ProgressRow | None:
    asked = select(ProgressRow).where(ProgressRow.run == run, ProgressRow.step == step, ProgressRow.key == key)
    return session.scalar(asked)


def _same(known: ProgressRow, loss: Losses | None) -> ProgressRow:
    if known.loss != (None if loss is None else dict(loss)):
        raise RepositoryError(
            f"step {known.step} was reported with the key {known.key!r} before, with another loss",
            code="progress-conflict",
            hint="the log is only added to: report again with another key",
            seq=known.seq,
        )
    return known


def _check_id(run_id: str) -> None:
    """Raise `unknown-run` for what is no id: not every text can be asked for in every database."""
    if not _ID.fullmatch(run_id):
        raise _unknown(run_id)


def _unknown(run_id: str) -> RepositoryError:
    return RepositoryError(f"there is no run {run_id!r}", code="unknown-run", run=run_id)


def _entry(row: ProgressRow) -> ProgressEntry:
    return ProgressEntry(row.seq, row.step, row.loss, row.key, row.at, row.by, row.lock, row.lock_before)


def _run(row: RunRow, last: ProgressRow | None, steps: int | None) -> RunRecord:
    return RunRecord(
        number=row.number,
        id=row.id,
        name=row.name,
        mixture=row.mixture,
        digest=row.digest,
        steps=steps,
        last_seq=row.last_seq,
        last=None if last is None else _entry(last),
        registered=row.at,
        by=row.by,
    )
