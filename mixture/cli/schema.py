"""`mixture schema`: what editors complete and check specs with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture schema -o mixture.schema.json")(schema)


def schema(
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where it goes, not printed.")] = None,
) -> None:
    """Print the JSON Schema of specs: an editor completes and checks a spec with it as it is written.

    Editors with the YAML language server (VS Code, Neovim, Emacs, Zed, …) take it from the spec's first line:

        # yaml-language-server: $schema=mixture.schema.json

    Other programs check with it, too: `check-jsonschema --schemafile mixture.schema.json mixture.yaml`. It knows keys,
    words, units and limits; what a spec says of its catalog is for `mixture plan`.
    """
    from mixture.cli.output import output_file
    from mixture.spec import schema_text

    if out is None:
        sys.stdout.write(schema_text())
        return
    with output_file(out) as beside:
        beside.write_text(schema_text(), encoding="utf-8")
    print(f"{out}: written")
