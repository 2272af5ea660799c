"""`mixture schema`: what editors complete and check files with, and what commands print with --json."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mixture.cli.output import AsJson, output_file, print_json


class SchemaOf(StrEnum):
    """The files that there is a schema of, and the commands whose JSON there is one of."""

    SPEC = "spec"
    SOURCES = "sources"
    PLAN = "plan"
    AMEND = "amend"
    DIFF = "diff"
    EXPLAIN = "explain"
    LADDER = "ladder"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture schema -o mixture.schema.json")(schema)


def schema(
    of: Annotated[
        SchemaOf,
        typer.Argument(
            metavar="[spec|sources|COMMAND]",
            help="Of a spec, of what `mixture ingest` reads, or of what plan, amend, diff, explain or ladder print "
            "with --json.",
        ),
    ] = SchemaOf.SPEC,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where it goes, not printed.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Print the JSON Schema of specs, or of sources files: editors complete and check them with it; or of --json.

    Editors with the YAML language server (VS Code, Neovim, Emacs, Zed, …) take it from the file's first line:

        # yaml-language-server: $schema=mixture.schema.json

    Other programs check with it, too: `check-jsonschema --schemafile mixture.schema.json mixture.yaml`. It knows keys,
    words, units and limits; what a spec says of its catalog is for `mixture plan`.
    """
    from mixture.planning.spec import schema_text

    text = schema_text(_schema_of(of))
    if out is None:
        print_json(json.loads(text)) if as_json else sys.stdout.write(text)
        return
    with output_file(out) as beside:
        beside.write_text(text, encoding="utf-8")
    print_json({"schema": str(out.resolve())}) if as_json else print(f"{out}: written")


def _schema_of(of: SchemaOf) -> dict[str, Any]:
    from pydantic import TypeAdapter

    from mixture.data.ingest import sources_schema
    from mixture.planning.amend import AmendedLockReport
    from mixture.planning.compare import ComparisonReport
    from mixture.planning.explain import ExplanationReport
    from mixture.planning.ladder import RungReport
    from mixture.planning.plan import PlanReport
    from mixture.planning.spec import spec_schema

    reports: dict[SchemaOf, type] = {
        SchemaOf.PLAN: PlanReport,
        SchemaOf.AMEND: AmendedLockReport,
        SchemaOf.DIFF: ComparisonReport,
        SchemaOf.EXPLAIN: ExplanationReport,
        SchemaOf.LADDER: RungReport,
    }
    if of in reports:
        return TypeAdapter(reports[of]).json_schema()
    return spec_schema() if of is SchemaOf.SPEC else sources_schema()
