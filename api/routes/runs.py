"""/v1/runs: what training runs report, and what that says of the data they have read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from mixture.api.answers import (
    LARGEST_NUMBER,
    LONGEST_SHOWN,
    By,
    JsonOnly,
    Listed,
    Page,
    PageAsked,
    PageQuery,
    TableFormat,
    VisibleText,
    Where,
    asks_for_table,
    chunked_answer,
    columns_of,
    list_answer,
    number_after,
    page_answer,
    page_of,
    table_answer,
    table_page_query,
    table_responses,
)
from mixture.api.database import Losses, NextLock, ProgressEntry, RunRecord, write_digest
from mixture.api.dependencies import AppServices, Reads, Runner, Services, TokenFirst, check_reports
from mixture.api.figures import FIGURES, PROGRESS, progress_table, read_by, standing
from mixture.api.middleware import Lifetime, Problem, pointer_token, problems
from mixture.api.models import RUN, NewProgress, NewRun, Progress, ReadRow, Run, RunHead
from mixture.api.refs import Ref
from mixture.api.registry import LoadedMixture
from mixture.errors import nearest
from mixture.lock import parting_step
from mixture.names import DIGEST_MARK
from mixture.planning.plan import group

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=TokenFirst)
MOST_SHOWN = 20
MOST_LOCKS = 100
MOST_REPORTS = 1000
LogQuery = Annotated[PageAsked, Depends(table_page_query(limit=100, most=MOST_REPORTS, is_table=asks_for_table))]
RunId = Annotated[str, Path(max_length=100, examples=[RUN], description="The id that registering the run gave.")]


@router.post(
    "",
    status_code=201,
    responses={
        200: {"model": Run, "description": "The run was there already"},
        **problems.documented(401, 403, 404, 409),
    },
)
def register_run(new: NewRun, caller: Runner, services: AppServices, response: Response) -> Run:
    """Register a run: from then on it is of the mixture that the name points to now.

    With a key, registering again gives the run that is there; of another lock, where the run could go on under it.
    """
    mixture = services.mixture_to_run(new.mixture)
    ref = f"{mixture.name}{DIGEST_MARK}{mixture.digest}"
    done = services.repository.create_run(
        mixture=ref, digest=mixture.digest, name=new.name, by=caller.name, key=new.key
    )
    if done.is_new:
        services.metrics.runs.inc()
    elif done.run.digest != mixture.digest and DIGEST_MARK.lstrip("@") in new.mixture:
        _check_goes_on(services, done.run, mixture)
    response.status_code = 201 if done.is_new else 200
    shown = _shown(services, done.run)
    response.headers.update({"Location": shown.url, "Cache-Control": "no-store"})
    return shown


@router.get("", dependencies=[Reads, JsonOnly])
def list_runs(
    services: AppServices,
    page: PageQuery,
    request: Request,
    response: Response,
    mixture: Annotated[
        VisibleText | None,
        Query(
            max_length=300,
            examples=["demo"],
            description="Only runs that are of this mixture, or went on from it under another lock: a name, "
            "name@sha256:…, or the lock's digest alone, sha256:…",
        ),
    ] = None,
) -> Page[RunHead]:
    """Runs, the newest first."""
    repository = services.repository
    listed = repository.runs if mixture is None else partial(repository.runs_ever_of, mixture)
    runs = listed(before=number_after(page), limit=page.limit + 1)
    more = 0 < len(runs) <= page.limit and bool(listed(before=runs[-1].number, limit=1))
    made = page_of(runs, page, key=lambda run: run.number, request=request, more=more)
    heads = Page[RunHead](items=[RunHead(**_head(run)) for run in made.items], next=made.next, next_url=made.next_url)
    return page_answer(heads, response)


@router.get("/{run_id}", dependencies=[Reads, JsonOnly], responses=problems.documented(404))
def get_run(run_id: RunId, services: AppServices, response: Response) -> Run:
    """A run: its last report, tokens read against those planned, and the next boundary."""
    response.headers["Cache-Control"] = "no-cache"
    return _shown(services, services.repository.run(run_id))


@router.post(
    "/{run_id}/progress",
    status_code=201,
    responses={
        200: {"model": Progress, "description": "The report was there already"},
        **problems.documented(401, 403, 404, 409),
    },
)
def report_progress(
    run_id: RunId, new: NewProgress, caller: Runner, services: AppServices, response: Response
) -> Progress:
    """Add a report to the run's log, and with a lock say that the run goes on under that one.

    It takes the scope `run`, and a token of the name that the run was registered with; or the scope `run-all`.
    Nothing is ever taken out of the log.
    """
    repository = services.repository
    run = repository.run(run_id)
    check_reports(caller, run)
    mixture, lock = _reads_now(services, run, new.lock)
    schedule = mixture.lock.schedule()
    schedule.positions_before(new.step)
    _check_domains(new.loss or {}, schedule.names)
    done = repository.add_progress(run_id, step=new.step, loss=new.loss, key=new.key, by=caller.name, lock=lock)
    if done.added:
        services.metrics.reports.inc()
    response.status_code = 201 if done.added else 200
    response.headers["Cache-Control"] = "no-store"
    return progress_shown(done.entry)


@router.get(
    "/{run_id}/progress",
    dependencies=[Reads],
    response_model=None,
    responses={
        **table_responses(
            Page[Progress],
            '"seq","step","domain","loss","key","at","by","lock"\n'
            '1530,15300,"web-high",2.31,"attempt-1",2026-03-01 12:00:00.000000Z,"trainer",\n',
        ),
        **problems.documented(404),
    },
)
def list_progress(
    run_id: RunId, services: AppServices, form: TableFormat, page: LogQuery, request: Request
) -> Response:
    """The run's log, from its beginning. In the other formats a row is a report and one of the losses that it says.

    A page has fewer reports than `limit` where their losses are some 4 MB; the next one goes on behind them.
    """
    run = services.repository.run(run_id)
    entries = services.repository.progress(run_id, after=number_after(page) or 0, limit=min(page.limit, MOST_REPORTS))
    more = bool(entries) and entries[-1].seq < run.last_seq
    if page.is_whole and more:

        def parts() -> Iterator[pa.RecordBatch]:
            rest = entries
            while rest:
                yield from progress_table([progress_shown(one) for one in rest]).to_batches()
                rest = services.repository.progress(run_id, after=rest[-1].seq, limit=MOST_REPORTS)
                rest = [one for one in rest if one.seq <= run.last_seq]

        return chunked_answer(
            request,
            form,
            of=f"{run.id} {run.last_seq}",
            lifetime=Lifetime.NOT_AT_ALL,
            schema=PROGRESS,
            chunks=parts(),
            places=services.streams,
        )

    def make() -> Listed:
        shown = [progress_shown(entry) for entry in entries]
        made = page_of(shown, page, key=lambda one: one.seq, request=request, more=more)
        return Listed(items=made.items, next=made.next, next_url=made.next_url)

    of = f"{run.id} {[(entry.seq, entry.at) for entry in entries]} {more}"  # a line of the log stays as it is
    return list_answer(request, form, of=of, lifetime=Lifetime.NOT_AT_ALL, make=make, table=progress_table)


@router.get(
    "/{run_id}/composition",
    dependencies=[Reads],
    response_model=None,
    responses={
        **table_responses(
            Page[ReadRow],
            '"domain","domains","tokens","planned_tokens","weight","planned_weight","epochs","planned_epochs",…\n'
            '"web-high",1,6230000000,7800000000,0.388,0.39,0.99,1.25,…\n',
        ),
        **problems.documented(404),
    },
)
def get_run_composition(
    run_id: RunId,
    services: AppServices,
    form: TableFormat,
    request: Request,
    step: Annotated[
        int | None,
        Query(
            ge=0,
            le=LARGEST_NUMBER,
            examples=[15300],
            description="What was read before this step; default: the step of the last report.",
        ),
    ] = None,
    by: By = None,
    where: Where = None,
) -> Response:
    """What the run has read so far, by groups of domains, against its plan: tokens, weights, epochs.

    What is read follows from the mixture and the steps that are reported as done. It is compared with what is planned
    up to there (`…_so_far`), and with the whole run.
    """
    run = services.repository.run(run_id)
    mixture = services.mixture(run.mixture)
    done = _step(run) if step is None else step
    mixture.lock.schedule().positions_before(done)
    columns = (mixture.domain_column,) if by is None else columns_of(mixture.catalog, by, taken=FIGURES)
    rows = None if where is None else services.select(mixture.catalog, where)

    def make() -> pa.Table:
        return read_by(mixture.lock, group(mixture.lock, mixture.catalog, columns, rows), done)

    return table_answer(request, form, of=f"{run.digest} {done}", lifetime=Lifetime.NOT_AT_ALL, make=make)


def progress_shown(entry: ProgressEntry) -> Progress:
    """A line of the log as it is answered."""
    return Progress.model_validate(entry, from_attributes=True)


def mixture_of(services: Services, run: RunRecord) -> LoadedMixture | None:
    """The mixture of a run; None where the service has it no longer."""
    try:
        return services.mixture(run.mixture)
    except Problem as problem:
        if problem.code != "unknown-mixture":
            raise
        return None


def _reads_now(services: Services, run: RunRecord, lock: str | None) -> tuple[LoadedMixture, NextLock | None]:
    """The mixture that a run reads from a report on, and the lock that it says, where that is another one.

    Raises Problem 404 `unknown-mixture`, of a lock that is not here too.
    """
    digest = None if lock is None else lock.removeprefix("sha256:")
    if digest in (None, run.digest):
        return services.mixture(run.mixture), None
    own = services.mixture(run.mixture)
    found = _under_name(services, own.name, str(digest))
    ref = f"{found.name}{DIGEST_MARK}{found.digest}"
    return found, NextLock(found.digest, ref, run.digest, parting_step(own.lock, found.lock))


def _under_name(services: Services, name: str, digest: str) -> LoadedMixture:
    """The mixture with this lock digest, by the name of the run's own where that has led to it."""
    try:
        return services.mixture(Ref(name, digest))
    except Problem as problem:
        if problem.code != "unknown-mixture":
            raise
    return services.mixture_to_run(write_digest(digest))


def _check_goes_on(services: Services, run: RunRecord, mixture: LoadedMixture) -> None:
    """Raise Problem 409, `run-conflict`, where a run has read past where this mixture's lock parts from its own."""
    own = mixture_of(services, run)
    if own is None or _step(run) > parting_step(own.lock, mixture.lock):
        raise Problem(409, f"the key is that of a run of {run.mixture}", code="run-conflict")


def _check_domains(loss: Losses, names: tuple[str, ...]) -> None:
    known = set(names)
    unknown = [name for name in loss if name not in known]
    if unknown:
        shown = [name[:LONGEST_SHOWN] for name in unknown[:MOST_SHOWN]]
        errors = [
            {"in": "body", "pointer": f"/loss/{pointer_token(name)}", "detail": "unknown domain"} for name in shown
        ]
        detail = f"the mixture has no domain {shown[0]!r}"
        raise Problem(422, detail, code="unknown-domain", hint=nearest(shown[0], names), errors=errors)


def _step(run: RunRecord) -> int:
    return 0 if run.last is None else run.last.step


def _head(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "mixture": run.mixture,
        "digest": run.digest,
        "step": _step(run),
        "steps": run.steps,
        "last": None if run.last is None else progress_shown(run.last),
        "registered": run.registered,
        "by": run.by,
        "url": f"{router.prefix}/{run.id}",
    }


def _shown(services: Services, run: RunRecord) -> Run:
    mixture = mixture_of(services, run)
    changes = services.repository.lock_changes(run.id, limit=MOST_LOCKS)
    here = f"{router.prefix}/{run.id}"
    links = {part: f"{here}/{part}" for part in ("progress", "composition", "events")}
    links["mixture"] = f"/v1/mixtures/{run.mixture}"
    return Run(
        **_head(run),
        standing=None if mixture is None else standing(mixture.lock, _step(run)),
        locks=[progress_shown(change) for change in changes],
        links=links,
    )
