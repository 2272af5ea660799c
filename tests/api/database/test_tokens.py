"""Secrets are shown once and never kept; what they allow, and when they end, is."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from mixture.api.database import Repository, RepositoryError, Scope, read_scope, token_hash


def test_a_token_is_found_by_its_secret_with_its_scopes(repository):
    token, secret = repository.add_token("trainer", [Scope.RUN, Scope.READ])
    other, other_secret = repository.add_token("trainer", {Scope.PUBLISH})
    assert repository.find_token(token_hash(secret)) == token
    assert token.scopes == {Scope.READ, Scope.RUN}
    assert repository.find_token(token_hash(other_secret)) == other
    assert repository.find_token(token_hash(secret + "x")) is None
    assert repository.find_token(token_hash("")) is None
    assert repository.tokens() == [token, other]


@pytest.mark.parametrize("name", ["", "two\nlines", "nothing\0", "half \ud800", "a" * 201])
def test_a_name_that_the_log_of_writes_could_not_say_is_refused(repository, name):
    with pytest.raises(RepositoryError) as caught:
        repository.add_token(name, [Scope.RUN])
    assert caught.value.code == "name-invalid"
    assert repository.tokens() == []
    assert repository.add_token("a" * 200, [Scope.RUN])[0].name == "a" * 200


def test_secrets_have_256_random_bits(repository):
    secrets = {repository.add_token("a", [])[1].removeprefix("mixture_") for _ in range(50)}
    assert len(secrets) == 50
    assert {len(secret) for secret in secrets} == {43}, "43 digits of 6 bits"


def test_no_secret_is_in_the_database(tmp_path):
    repository = Repository.open(tmp_path / "data")
    _, secret = repository.add_token("trainer", [Scope.RUN])
    with repository.database.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM tokens")) == 1
    repository.close()
    bytes_kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert token_hash(secret).encode() in bytes_kept
    assert secret.removeprefix("mixture_").encode() not in bytes_kept


def test_a_revoked_token_is_not_found_any_more_and_stays_in_the_list(repository):
    token, secret = repository.add_token("trainer", [Scope.RUN])
    revoked = repository.revoke_token(token.id)
    assert revoked.revoked is not None
    assert repository.find_token(token_hash(secret)) is None
    assert repository.revoke_token(token.id) == revoked, "it ended when it ended"
    assert repository.tokens() == [revoked]
    with pytest.raises(RepositoryError) as caught:
        repository.revoke_token("nothing")
    assert caught.value.code == "unknown-token"


@pytest.mark.parametrize("name", ["", " ", "\u200b\u00a0", "a\nb", "\x1b[31m", "a\u202eb", "a" * 201])
def test_the_name_of_a_token_is_text_that_people_see(repository, name):
    with pytest.raises(RepositoryError) as caught:
        repository.add_token(name, [Scope.RUN])
    assert caught.value.code == "name-invalid"


def test_an_unknown_scope_is_refused_with_the_nearest():
    assert read_scope("publish") is Scope.PUBLISH
    with pytest.raises(RepositoryError, match="'publish'") as caught:
        read_scope("publsh")
    assert caught.value.code == "unknown-scope"
