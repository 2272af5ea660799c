"""`mixture init`: a first spec for a catalog."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mixture.cli.output import AsJson, output_file, print_json
from mixture.errors import CatalogError, MixtureError, Place


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture init cells.csv -o mixture.yaml --tokens 20B")(init)


def init(
    catalog: Annotated[
        str, typer.Argument(metavar="CATALOG", help="A table of domains, or a store's or a catalog's folder.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The spec; it must not be there.")] = Path(
        "mixture.yaml"
    ),
    tokens: Annotated[
        str | None, typer.Option(metavar="N", help="Of the run: 20B. Default: about one epoch of the catalog.")
    ] = None,
    domain: Annotated[str, typer.Option(metavar="COLUMN", help="The table's column of domains.")] = "domain",
    *,
    as_json: AsJson = False,
) -> None:
    """Write a commented spec for a catalog, which plans without an error, to be changed.

    The first 80% of its run read all domains by their size. The last 20% read more of the best, where a column of the
    catalog says quality, and otherwise more of the small. The schema by which editors check it is written
    beside it, where it is not there.
    """
    from mixture.data.storage import Address, located
    from mixture.planning.catalog import read_catalog
    from mixture.planning.init import first_spec
    from mixture.planning.spec import SCHEMA_FILE, schema_text, spec_schema
    from mixture.units import Unit, format_count, parse_count

    budget = None if tokens is None else parse_count(tokens, units=(Unit.TOKENS,), bare=Unit.TOKENS).amount
    if os.path.lexists(out):
        raise MixtureError(
            "there is such a file", code="file-exists", place=Place(file=str(out)), hint="name another with -o"
        )
    place = located(catalog)
    try:
        read = read_catalog(catalog, domain=domain)
    except CatalogError as error:
        if error.code == "missing-column":
            is_domain = error.facts["column"] == domain
            need = "--domain COLUMN names the one of the domains" if is_domain else "the sizes are in one of this name"
            error.hint = f"{need}; {error.hint}"
        raise
    table = catalog if isinstance(place, Address) else os.path.relpath(place, out.parent)
    made = first_spec(read, out, table=table, domain=domain, tokens=budget)
    with output_file(out) as beside:
        beside.write_text(made.text, encoding="utf-8")
    schema = out.with_name(SCHEMA_FILE)
    if not os.path.lexists(schema):
        with output_file(schema) as beside:
            beside.write_text(schema_text(spec_schema()), encoding="utf-8")
    plan = made.plan
    if as_json:
        print_json({"spec": str(out), "schema": str(schema), "steps": plan.steps, "tokens": plan.tokens})
        return
    phases = ", ".join(f"{phase.name} {format_count(phase.laid.steps)}" for phase in plan.phases)
    print(f"{out}: {format_count(plan.tokens)} tokens in {format_count(plan.steps)} steps ({phases})")
    print(f"what comes of it: mixture plan {out}")
