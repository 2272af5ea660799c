"""`mixture export|import`: mixtures in the formats of trainers, and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, output_file, plain, print_json, print_table, printable, table
from mixture.errors import FormatError, Place

if TYPE_CHECKING:
    from mixture.formats import Exported, Imported, Remark, WeightUnit
    from mixture.lock import Lock
    from mixture.planning.catalog import Catalog
    from mixture.planning.plan import Plan
    from mixture.units import Unit

FormatName = Annotated[str, typer.Argument(metavar="FORMAT", help="`mixture export --list` shows them.")]
Template = Annotated[
    str,
    typer.Option(
        metavar="TEMPLATE",
        help="Where a domain's text lies: 's3://bucket/{domain}', {COLUMN} of the catalog, {file} of export-store.",
    ),
]
UnitName = Annotated[
    str | None,
    typer.Option("--unit", metavar="UNIT", help="What the trainer's samples are: sequences or documents."),
]
CatalogFile = Annotated[Path | None, typer.Option("--catalog", metavar="TABLE", help="The table of the domains.")]


def _list(wanted: bool) -> None:
    if not wanted:
        return
    from mixture.formats import FORMATS

    shown = table("Formats", "<format", "<weights count", "<may change within a file", "<import", "<what it is")
    for form in FORMATS.values():
        units = " or ".join(form.units)
        holds = ", ".join(sorted(form.holds)) or "nothing"
        shown.add_row(form.name, units, holds, "yes" if form.read else "no", plain(form.title))
    print_table(shown)
    raise typer.Exit


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(
        "export",
        epilog="Example: mixture export levanter mixtures/demo/mixture.yaml --path-template 's3://bucket/{domain}'"
        " -o out · mixture export --list",
    )(export_)
    app.command(
        "import",
        epilog="Example: mixture import olmo stage1.yaml stage2.yaml -o mine --catalog pools.csv --steps 1000"
        " --steps 250",
    )(import_)


def export_(
    form: FormatName,
    source: Annotated[Path, typer.Argument(metavar="SPEC_OR_LOCK", help="A mixture spec, or a lock.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE_OR_DIR", help="Where it goes; several files go into a folder."),
    ] = None,
    phase: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this phase, its steps counted from its first.")
    ] = None,
    path_template: Template = "{domain}",
    catalog: CatalogFile = None,
    unit: UnitName = None,
    *,
    _: Annotated[
        bool,
        typer.Option("--list", help="Show the formats and what their weights count.", callback=_list, is_eager=True),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a mixture for a trainer. What its format cannot say goes to standard error, and into the file's head."""
    from mixture.formats import export_mixture, format_of

    made = format_of(form)
    lock, known = _lock_of(source, catalog)
    exported = export_mixture(lock, made, catalog=known, phase=phase, path_template=path_template, unit=_unit(unit))
    if out is None:
        _print_files(exported, as_json=as_json)
        return
    written = _write_exported(exported, out)
    if as_json:
        print_json(exported.json() | {"files": [str(path) for path in written]})
        return
    _say(exported.remarks)
    for path in written:
        print(f"{path}: written; its weights count {exported.unit}")


def _lock_of(source: Path, catalog: Path | None) -> tuple[Lock, Catalog | None]:
    """The lock of a spec or of a lock file, and the table of its domains."""
    from mixture.cli.planning.plan import agree, store_of
    from mixture.lock import read_lock
    from mixture.planning.compare import given_catalog, is_lock
    from mixture.planning.plan import make_lock, make_plan
    from mixture.planning.spec import read_spec

    given = None if catalog is None else given_catalog(catalog)
    if is_lock(source):
        return read_lock(source), given
    spec = read_spec(source)
    plan = make_plan(spec)
    store = store_of(spec)
    lock = make_lock(
        plan, content=None if store is None else {name: domain.content for name, domain in store.domains.items()}
    )
    agree(store, lock)
    return lock, given or plan.catalog


def _unit(name: str | None) -> WeightUnit | None:
    from mixture.formats import WeightUnit

    if name is None:
        return None
    try:
        return WeightUnit(name)
    except ValueError as error:
        raise typer.BadParameter(
            f"expected one of: sequences, documents, tokens; not {name!r}", param_hint="--unit"
        ) from error


def _print_files(exported: Exported, *, as_json: bool) -> None:
    """One file as it is; several only as JSON."""
    if as_json:
        files = [{"name": name, "text": text} for name, text in exported.files.items()]
        print_json(exported.json() | {"files": files})
        return
    if len(exported.files) > 1:
        raise typer.BadParameter(
            f"this gives {len(exported.files)} files: -o DIR writes them, --json shows them, --phase NAME gives fewer",
            param_hint="-o",
        )
    _say(exported.remarks)
    sys.stdout.write(next(iter(exported.files.values())))


def _write_exported(exported: Exported, out: Path) -> list[Path]:
    is_file = len(exported.files) == 1 and not out.is_dir() and out.suffix
    names = [out] if is_file else [out / name for name in exported.files]
    if not is_file:
        out.mkdir(parents=True, exist_ok=True)
    for path, text in zip(names, exported.files.values(), strict=True):
        with output_file(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    return names


def _say(remarks: Sequence[Remark]) -> None:
    for remark in remarks:
        print(f"note: {printable(str(remark))}", file=sys.stderr)


def import_(
    form: FormatName,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="The trainer's file, or one for each phase, in order.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Where mixture.yaml and its tables go.")],
    catalog: CatalogFile = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="The mixture's name.")] = None,
    sequence_length: Annotated[
        str | None, typer.Option(metavar="TOKENS", help="Where the file does not say it.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="SEQUENCES", help="Sequences of a step, where the file does not say.")
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option("--steps", metavar="STEPS", help="Of each phase in order, or once, of the whole run."),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="The tokenizer, where the files name none or several.")
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A variable of a script that it does not set for certain."),
    ] = None,
    path_template: Template = "{domain}",
    unit: UnitName = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a spec, and the tables that it names, of a trainer's mixture. Nothing in the file is dropped unsaid."""
    from mixture.formats import Given, format_of, import_mixture, read_file
    from mixture.planning.compare import given_catalog
    from mixture.planning.plan import make_plan
    from mixture.planning.spec import read_spec
    from mixture.units import Unit

    made = format_of(form)
    given = Given(
        name=name,
        catalog=None if catalog is None else given_catalog(catalog),
        path_template=path_template,
        unit=_unit(unit),
        sequence_length=None if sequence_length is None else _counted(sequence_length, Unit.TOKENS),
        batch_sequences=None if batch is None else _counted(batch, Unit.SEQUENCES),
        steps=tuple(_counted(text, Unit.STEPS) for text in steps or ()),
        tokenizer=tokenizer,
    )
    values = dict(_variable(text) for text in variables or ())
    imported = import_mixture(made, [read_file(path, values) for path in files], out, given)
    written = _write_imported(imported, out)
    plan = make_plan(read_spec(written[0]))
    if as_json:
        print_json(_imported_json(imported, written, plan))
        return
    _say(imported.remarks)
    for finding in plan.findings:
        if finding.level.value != "note":
            print(finding, file=sys.stderr)
    beside = " and ".join(path.name for path in written[1:])
    print(f"{written[0]}: written{f', with {beside}' if beside else ''}")
    print(f"{len(plan.phases)} phases, {plan.steps:,} steps, {plan.tokens:,} tokens; `mixture plan` says more of it")


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not (name.isidentifier() or name.isdigit()):
        raise typer.BadParameter(f"expected NAME=VALUE: {text!r}", param_hint="--set")
    return name, value


def _counted(text: str, unit: Unit) -> int:
    """A count as a spec has it, with its unit or without."""
    from mixture.units import parse_count

    return parse_count(text, units=(unit,), bare=unit).amount


def _write_imported(imported: Imported, out: Path) -> list[Path]:
    """The files in their folder. Raises FormatError `file-exists` before any is written."""
    paths = [out / name for name in imported.files]
    there = next((path for path in paths if path.exists()), None)
    if there is not None:
        raise FormatError(
            "the file exists",
            code="file-exists",
            place=Place(file=str(there)),
            hint="give another folder with -o DIR",
        )
    out.mkdir(parents=True, exist_ok=True)
    for path, text in zip(paths, imported.files.values(), strict=True):
        with output_file(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    return paths


def _imported_json(imported: Imported, written: Sequence[Path], plan: Plan) -> dict[str, object]:
    from mixture.planning.plan import finding_json

    return {
        "mixture": imported.mixture,
        "files": [str(path) for path in written],
        "steps": plan.steps,
        "tokens": plan.tokens,
        "remarks": [{"code": remark.code, "message": remark.message} for remark in imported.remarks],
        "findings": [finding_json(finding) for finding in plan.findings],
    }
