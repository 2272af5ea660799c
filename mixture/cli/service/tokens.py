"""`mixture tokens create|list|revoke`: who may write, told to the database of the service directly."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, print_json, print_table, table
from mixture.cli.service.serve import Config, DataDir, settings_of
from mixture.errors import MixtureError, Place
from mixture.extras import extra

if TYPE_CHECKING:
    from mixture.api.database import Repository, Scope, TokenRecord


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    tokens = typer.Typer(help="Make tokens for those who publish and train. Run it where the service's settings are.")
    tokens.command(epilog="Example: mixture tokens create release-bot --scope publish")(create)
    tokens.command("list", epilog="Example: mixture tokens list --json")(list_all)
    tokens.command(epilog="Example: mixture tokens revoke 0f3a9c2b7d5e")(revoke)
    app.add_typer(tokens, name="tokens", no_args_is_help=True)


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who holds it: the log of writes says this.")],
    scope: Annotated[
        list[str], typer.Option("--scope", metavar="SCOPE", help="read, publish, run or run-all; several: run,publish.")
    ],
    config: Config = None,
    data_dir: DataDir = None,
    *,
    new: Annotated[bool, typer.Option("--new", help="Make the service's database where there is none yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a token. Its secret is shown now and never again: the database has its SHA-256 only."""
    scopes = _scopes(scope)
    with _repository(config, data_dir, is_new=new) as repository:
        token, secret = repository.add_token(name, scopes)
    print_json(_json(token) | {"secret": secret}) if as_json else print(secret)


def list_all(config: Config = None, data_dir: DataDir = None, *, as_json: AsJson = False) -> None:
    """List tokens, revoked ones too; secrets are not known."""
    with _repository(config, data_dir) as repository:
        found = repository.tokens()
    if as_json:
        for token in found:
            print_json(_json(token))
        return
    from rich.markup import escape

    shown = table("Tokens", "<id", "<name", "<scopes", "<created", "<revoked")
    for token in found:
        revoked = "" if token.revoked is None else _time(token.revoked)
        shown.add_row(token.id, escape(token.name), ", ".join(sorted(token.scopes)), _time(token.created), revoked)
    print_table(shown)


def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The token's id, from `mixture tokens list`.")],
    config: Config = None,
    data_dir: DataDir = None,
    *,
    as_json: AsJson = False,
) -> None:
    """End a token, at once and in every copy of the service."""
    with _repository(config, data_dir) as repository:
        ended = repository.revoke_token(token)
    print_json(_json(ended)) if as_json else print(f"{token}: revoked, it was {ended.name}'s")


@contextmanager
def _repository(config: Path | None, data_dir: Path | None, *, is_new: bool = False) -> Iterator[Repository]:
    """What the service's settings name. Which database it is goes to standard error: another one has other tokens."""
    settings = settings_of(config, data_dir)
    with extra("api"):
        from mixture.api.database import Repository, database_file, database_of, shown_database
    database = database_of(settings.data_dir, settings.database_url)
    file = database_file(database)
    if file is not None and not file.exists() and not is_new:
        raise MixtureError(
            "there is no database of a service",
            code="database-missing",
            place=Place(file=str(file)),
            hint="--data-dir or MIXTURE_DATA_DIR says where the service keeps its own; `mixture serve` makes it, "
            "and so does `mixture tokens create … --new`",
        )
    try:
        repository = Repository.open(settings.data_dir, settings.database_url)
    except MixtureError as error:
        error.place = error.place or Place(file=shown_database(database))
        raise
    try:
        print(f"database {shown_database(database)}", file=sys.stderr)
        yield repository
    finally:
        repository.close()


def _scopes(said: list[str]) -> list[Scope]:
    with extra("api"):
        from mixture.api.database import RepositoryError, read_scope
    try:
        return [read_scope(word.strip()) for text in said for word in text.split(",")]
    except RepositoryError as error:
        raise typer.BadParameter(str(error), param_hint="--scope") from error


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _json(token: TokenRecord) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": [scope.value for scope in sorted(token.scopes)],
        "created": _time(token.created),
        "revoked": None if token.revoked is None else _time(token.revoked),
    }
