"""Tokens that let their holders write, or read where reading is not open. A secret is shown once and never kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import select

from mixture.api.database.database import Database
from mixture.api.database.errors import RepositoryError
from mixture.api.database.models import TokenRow
from mixture.api.database.records import Scope, TokenRecord
from mixture.errors import nearest
from mixture.names import LONGEST_NAME, is_blank, odd_character

_PREFIX = "mixture_"  # so that tools that look for secrets in text can find one


def token_hash(secret: str) -> str:
    """What is kept of a secret: its SHA-256, in hex. A secret has 256 random bits, so it needs no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def read_scope(text: str) -> Scope:
    """A scope from its word. Raises RepositoryError, `unknown-scope`."""
    try:
        return Scope(text)
    except ValueError as error:
        hint = nearest(text, Scope) or f"{', '.join(Scope)} are right"
        raise RepositoryError(f"{text!r} is no scope", code="unknown-scope", hint=hint) from error


class Tokens:
    """The part of the repository that keeps tokens."""

    database: Database

    def add_token(self, name: str, scopes: Collection[Scope]) -> tuple[TokenRecord, str]:
        """Make a token for `name`, who the log of writes will say it was. Gives it and its secret, this once.

        Raises `name-invalid`.
        """
        if is_blank(name) or len(name) > LONGEST_NAME or odd_character(name) is not None:
            hint = f"one line of up to {LONGEST_NAME} visible characters is right"
            message = f"{name[:LONGEST_NAME]!r} can not be the name of a token"
            raise RepositoryError(message, code="name-invalid", hint=hint)
        secret = _PREFIX + secrets.token_urlsafe(32)
        row = TokenRow(
            id=secrets.token_hex(6),
            name=name,
            secret=token_hash(secret),
            scopes=" ".join(scope for scope in Scope if scope in scopes),
            at=datetime.now(UTC),
            revoked=None,
        )
        with self.database.writing() as session:
            session.add(row)
            session.flush()
            return _token(row), secret

    def find_token(self, hashed: str) -> TokenRecord | None:
        """The token whose secret has this hash, where it is not revoked."""
        with self.database.reading() as session:
            row = session.scalar(select(TokenRow).where(TokenRow.secret == hashed))
            # The index compares hashes as text; what decides takes the same time for every hash.
            if row is None or row.revoked is not None or not hmac.compare_digest(row.secret, hashed):
                return None
            return _token(row)

    def tokens(self) -> list[TokenRecord]:
        """All tokens, revoked ones too, oldest first."""
        with self.database.reading() as session:
            return [_token(row) for row in session.scalars(select(TokenRow).order_by(TokenRow.number))]

    def revoked_tokens(self, token_ids: Collection[str]) -> set[str]:
        """Those of some tokens that are revoked."""
        asked = select(TokenRow.id).where(TokenRow.id.in_(token_ids), TokenRow.revoked.is_not(None))
        with self.database.reading() as session:
            return set(session.scalars(asked))

    def revoke_token(self, token_id: str) -> TokenRecord:
        """End a token, at once and in every copy of the service. Raises `unknown-token`."""
        with self.database.writing() as session:
            row = session.scalar(select(TokenRow).where(TokenRow.id == token_id).with_for_update())
            if row is None:
                raise RepositoryError(f"there is no token {token_id!r}", code="unknown-token", token=token_id)
            row.revoked = row.revoked or datetime.now(UTC)
            return _token(row)


def _token(row: TokenRow) -> TokenRecord:
    scopes = frozenset(Scope(word) for word in row.scopes.split())
    return TokenRecord(row.number, row.id, row.name, scopes, row.at, row.revoked)
