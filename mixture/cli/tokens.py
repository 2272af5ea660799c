"""`mixture tokens create|list|revoke`: who may write, told to the database of the service directly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, print_json, print_table, table

if TYPE_CHECKING:
    from api.repository import Repository, TokenRecord

Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Settings of the service, TOML; MIXTURE_… in the environment wins.")
]


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
        list[str], typer.Option("--scope", metavar="SCOPE", help="read, publish or run; may stand more than once.")
    ],
    config: Config = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a token. Its secret is shown now and never again: the database has its SHA-256 only."""
    from api.repository import read_scope

    scopes = [read_scope(word) for word in scope]
    with _repository(config) as repository:
        token, secret = repository.add_token(name, scopes)
    print_json(_json(token) | {"secret": secret}) if as_json else print(secret)


def list_all(config: Config = None, *, as_json: AsJson = False) -> None:
    """List tokens, revoked ones too; secrets are not known."""
    with _repository(config) as repository:
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
    *,
    as_json: AsJson = False,
) -> None:
    """End a token, at once and in every copy of the service."""
    with _repository(config) as repository:
        ended = repository.revoke_token(token)
    print_json(_json(ended)) if as_json else print(f"{token}: revoked, it was {ended.name}'s")


@contextmanager
def _repository(config: Path | None) -> Iterator[Repository]:
    from api.repository import Repository
    from api.settings import CONFIG_VARIABLE, load_settings

    if config is not None:
        os.environ[CONFIG_VARIABLE] = str(config.absolute())
    settings = load_settings()
    repository = Repository.open(settings.data_dir, settings.database_url)
    try:
        yield repository
    finally:
        repository.close()


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
