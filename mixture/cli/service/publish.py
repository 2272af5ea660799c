"""`mixture publish`: give a mixture to a service, under a name."""

from __future__ import annotations

import base64
import string
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from mixture.cli.output import AsJson, print_json
from mixture.cli.planning.plan import SpecFile
from mixture.cli.service.remote import DIGEST_DIGITS, Scope, Token, Url, explained, service_at
from mixture.errors import MixtureError, Place, ServiceError
from mixture.file_names import SPEC_FILE, STORE_TABLE

if TYPE_CHECKING:
    from mixture.planning.plan import Plan
    from mixture.planning.spec import Spec


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        epilog="Example: mixture publish mixtures/demo/mixture.yaml --url http://127.0.0.1:8000 --name my-demo. "
        "To move a name: --replaces sha256:… with the digest that it points to now."
    )(publish)


def publish(
    spec: SpecFile,
    url: Url,
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The name that is to point to this mixture, in its address: up to 100 letters, digits, '.', '_', '-'.",
        ),
    ],
    replaces: Annotated[
        str | None, typer.Option("--replaces", metavar="DIGEST", help="What the name points to now; needed to move it.")
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option("--lock", metavar="LOCK", help="The lock that must come out. Default: SPEC's, if it is there."),
    ] = None,
    leaves_run: Annotated[
        list[str] | None,
        typer.Option("--leaves-run", metavar="RUN", help="A run that may stay with its lock, whatever it has read."),
    ] = None,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Publish a spec with its tables. The service plans and locks it itself; doing it again changes nothing.

    A lock that `mixture amend` made is published with the spec that it was amended to: --lock says it.
    """
    from mixture.planning.plan import finding_json
    from mixture.planning.spec import read_spec

    digits = _digits(replaces)
    loaded = read_spec(spec)
    beside = spec.with_suffix(".lock.json")
    if lock is None and beside.is_file():
        lock = beside
    planned = _planned(loaded, lock)
    body = {
        "spec": _text(spec),
        "tables": _tables(loaded),
        "lock": None if lock is None else _text(lock),
        **({"leaves_runs": leaves_run} if leaves_run else {}),
    }
    service = service_at(url, token)
    try:
        with explained(Scope.PUBLISH):
            if digits is not None and len(digits) < DIGEST_DIGITS:
                digits = service.ask("GET", f"/v1/mixtures/{quote(name, safe='')}@sha256:{digits}")["digest"]
            headers = {} if digits is None else {"If-Match": f'"sha256:{digits}"'}
            done = service.ask("PUT", f"/v1/mixtures/{quote(name, safe='')}", body, headers)
    except ServiceError as error:
        raise _here(error, loaded) from error
    if as_json:
        said = [finding_json(finding) for finding in planned.findings]
        print_json(done | {"findings": said, "lock": None if lock is None else str(lock)})
        return
    for finding in planned.summaries:
        if finding.level.value != "note":
            print(finding, file=sys.stderr)
    print(f"{name}: {done['change']}, {service.url}{done['url']}")
    if done["text"] == "first":
        print("text: first; the spec that was sent first with this lock stays, as it says the same in other words")
    if done.get("batches") is False:  # a service of an earlier version does not say
        print("no store there holds its text: no batches; the service's MIXTURE_STORE_DIRS names folders of stores")
    print(f"digest {done['digest']}, " + ("without a lock of yours to compare" if lock is None else f"that of {lock}"))


def _planned(spec: Spec, lock: Path | None) -> Plan:
    """The plan that the service should come to; of an amended lock, or one with pools, with what it brings along."""
    from mixture.lock import read_lock
    from mixture.planning.plan import check_lock, make_plan

    given = None if lock is None else read_lock(lock)
    if given is not None and (given.amends is not None or given.data.pools):
        return check_lock(given, spec)
    planned = make_plan(spec)
    planned.require()
    return planned


def _digits(text: str | None) -> str | None:
    """The digits of a digest, all or the first, with or without `sha256:`. Raises typer.BadParameter."""
    if text is None:
        return None
    digits = text.strip().lower().removeprefix("sha256:")
    if not LEAST_DIGITS <= len(digits) <= DIGEST_DIGITS or not set(digits) <= set(string.hexdigits):
        hint = f"its {DIGEST_DIGITS} digits, or the first {LEAST_DIGITS} or more: GET /v1/mixtures/NAME says them"
        raise typer.BadParameter(f"{text!r} is no digest: {hint}", param_hint="--replaces")
    return digits


LEAST_DIGITS = 8
"""Of a digest that is cut: fewer do not tell mixtures apart."""


def _tables(spec: Spec) -> dict[str, str]:
    """What the spec names, by the names that it has for them: text, or base64 of Parquet."""
    from mixture.planning.catalog import TEXT_ENDINGS
    from mixture.planning.spec import named_tables

    tables = {}
    for key, path in named_tables(spec):
        if path.parent != spec.path.parent:
            raise MixtureError(
                f"{key}: {path} does not lie beside the spec",
                code="table-not-beside",
                place=spec.place(key),
                hint="what is published names its tables without a folder",
            )
        if path.suffix.lower() in TEXT_ENDINGS:
            tables[path.name] = _text(path)
        else:
            data = (path / STORE_TABLE if path.is_dir() else path).read_bytes()
            tables[path.name] = base64.b64encode(data).decode("ascii")
    return tables


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = Place(file=str(path))
        raise MixtureError(f"byte {error.start:,} is not UTF-8", code="not-text", place=place) from error


def _here(error: ServiceError, spec: Spec) -> ServiceError:
    """What the service said, in terms of this command: its options, and the files that it was run on."""
    if error.code == "digest-required":
        error.hint = f"--replaces {error.facts['current']}"
    if error.code == "run-consumed":
        error.hint = "amend at a later step; or --leaves-run RUN, and the run stays with its lock"
    if error.code == "invalid-request" and error.message.startswith("path /name:"):
        error.message = "this can not be the name of a mixture"
        error.hint = "--name: up to 100 letters, digits, '.', '_' and '-', a letter or digit first"
    for single in error.errors:
        if single.place is not None and single.place.file is not None:
            name = single.place.file
            path = spec.path if name == SPEC_FILE else spec.path.with_name(name)
            single.place = Place(str(path), single.place.line, single.place.column, single.place.path)
    return error
