"""store.json is believed only where it fits together, whatever its digests say."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from data.makers import MakeStore

from mixture.data.store import Store, open_store, verify_store
from mixture.errors import StoreError
from mixture.json_text import digest


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store(code=["def f(): pass", "import os"], web=["one", "two", "three " * 20_000])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe\0",
        b'{"format": "mixture-store/1"',
        b"[" * 100_000,
        b'{"sha256": 1}',
        b'{"format": "mixture-store/1", "sha256": 1, "x": "\\ud800"}',
    ],
)
def test_a_description_that_is_none_is_refused(store: Store, data: bytes):
    (store.path / "store.json").write_bytes(data)
    with pytest.raises(StoreError) as caught:
        open_store(store.path)
    assert caught.value.code in ("store-damaged", "store-format")
    assert caught.value.place is not None


def test_an_edited_description_is_refused(store: Store):
    path = store.path / "store.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(StoreError, match="changed after it was written"):
        open_store(store.path)


def rewrite(store: Store, **changes: object) -> None:
    """Change the description and make its own digest right again."""
    path = store.path / "store.json"
    fields = json.loads(path.read_text()) | changes
    fields.pop("sha256")
    path.write_text(json.dumps(fields | {"sha256": digest(fields)}))


def test_another_format_is_refused_with_the_one_that_is_read(store: Store):
    rewrite(store, format="mixture-store/9")
    with pytest.raises(StoreError, match=r"mixture-store/9.*mixture-store/1") as caught:
        open_store(store.path)
    assert caught.value.code == "store-format"


@pytest.mark.parametrize(
    "changes", [{"dtype": "float32"}, {"domains": 3}, {"file_tokens": -1}, {"more": 1}, {"digest": "0"}]
)
def test_fields_that_do_not_fit_are_refused(store: Store, changes: dict[str, object]):
    rewrite(store, **changes)
    with pytest.raises(StoreError) as caught:
        open_store(store.path)
    assert caught.value.code == "store-damaged"


Fields = dict[str, Any]


def of_domain(number: int, **changes: object) -> Callable[[Fields], None]:
    return lambda fields: fields["domains"][number].update(changes)


def of_file(**changes: object) -> Callable[[Fields], None]:
    return lambda fields: fields["domains"][0]["files"][0].update(changes)


CONTRADICTIONS: dict[str, Callable[[Fields], object]] = {
    "more tokens than files": of_domain(0, tokens=25),
    "no files": of_domain(0, files=[]),
    "no documents": of_domain(0, documents=0),
    "more documents than tokens": of_domain(0, documents=25),
    "documents of nothing": of_domain(0, files=[], tokens=0),
    "files smaller than the tokens in them": lambda fields: fields.update(file_tokens=10),
    "files that are not cut so": lambda fields: fields.update(file_tokens=1 << 20),
    "no tables": lambda fields: fields.update(tables=[]),
    "a table too few": lambda fields: fields["tables"].pop(),
    "a table twice": lambda fields: fields["tables"].append(fields["tables"][0]),
    "a domain twice": lambda fields: fields["domains"].insert(0, fields["domains"][0] | {"files": [], "tokens": 0}),
    "domains out of order": lambda fields: fields["domains"].reverse(),
    "a file of another store": of_file(file="../other/tokens/a.arrow"),
    "a file of the system": of_file(file="/etc/passwd"),
    "the folder itself": of_file(file="."),
    "a name that no file can have": of_file(file="tokens/a\0b"),
    "end of document outside of the vocabulary": lambda fields: fields["end_of_document"].update(token=1 << 40),
    "a vocabulary that the type does not hold": lambda fields: fields["tokenizer"].update(vocabulary=65_537),
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_a_description_that_contradicts_itself_is_refused_though_its_digests_are_right(store: Store, kind: str):
    path = store.path / "store.json"
    fields = json.loads(path.read_text())
    CONTRADICTIONS[kind](fields)
    said = [[d["name"], d["tokens"], d["documents"], d["content"]] for d in fields["domains"]]
    whole = {"format": fields["format"], "tokenizer": fields["tokenizer"]["digest"], "dtype": fields["dtype"]}
    fields["digest"] = digest(whole | {"end_of_document": fields["end_of_document"], "domains": said})
    rewrite(store, **fields)
    for call in (open_store, verify_store):
        with pytest.raises(StoreError) as caught:
            call(store.path)
        assert caught.value.code == "store-damaged"
        assert "digest" not in caught.value.message


@pytest.mark.parametrize("depth", range(900, 1000, 10))
def test_a_description_of_any_depth_is_refused(store: Store, depth: int):
    text = '{"sha256": "", "format": "mixture-store/1", "x": ' + "[" * depth + "]" * depth + "}"
    (store.path / "store.json").write_text(text)
    with pytest.raises(StoreError) as caught:
        open_store(store.path)
    assert caught.value.code == "store-damaged"


def test_a_description_with_another_tokenizer_than_the_catalog_is_told(store: Store):
    tokenizer = json.loads((store.path / "store.json").read_text())["tokenizer"]
    rewrite(store, tokenizer=tokenizer | {"name": "llama"})
    (error,) = verify_store(store.path)
    assert error.code == "tables-differ"
