"""What is an address, what a path, and where files beside and inside lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixture.data.storage import Address, located
from mixture.errors import StoreError


@pytest.mark.parametrize(
    ("text", "root", "path"),
    [
        ("s3://bucket/runs/store", "s3://bucket", "runs/store"),
        ("s3://bucket/runs/store/", "s3://bucket", "runs/store"),
        ("s3:/bucket/runs/store", "s3://bucket", "runs/store"),
        ("gs://bucket", "gs://bucket", ""),
        ("az://account/container/a b/c", "az://account/container", "a b/c"),
        ("http://localhost:8000/store", "http://localhost:8000", "store"),
        ("https://example.org", "https://example.org", ""),
        ("HTTPS://example.org/A", "https://example.org", "A"),
        ("http://[::1]:8000/a", "http://[::1]:8000", "a"),
    ],
)
def test_addresses_have_a_root_and_a_path(text: str, root: str, path: str):
    assert located(text) == Address(root, path)
    assert located(str(located(text))) == located(text)


def test_an_address_that_went_through_a_path_is_the_same():
    assert located(Path("s3://bucket/key")) == located("s3://bucket/key")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("store", "store"),
        ("/data/store", "/data/store"),
        ("file:///data/a%20b", "/data/a b"),
        ("s3", "s3"),
        ("c:x", "c:x"),
    ],
)
def test_paths_of_this_machine_are_paths(text: str, path: str):
    assert located(text) == Path(path)


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "az://account",
        "s3://me:secret@bucket/x",
        "https://me:secret@example.org/x",
        "https://me:secret/x@example.org/x",
        "https://me:secret@example.org?sig=y",
        "https://example.org/x?sig=y",
        "https://example.org?sig=y",
        "https://example.org/x#sig=y",
        "HTTPS://example.org/x?sig=y",
        "https://example.org:port/x",
        "https://exa mple.org/x",
        "https://example..org/x",
    ],
)
def test_what_names_no_object_or_holds_a_secret_is_refused(text: str):
    with pytest.raises(StoreError) as caught:
        located(text)
    assert caught.value.code == "address-invalid"
    assert "secret" not in str(caught.value)
    assert "sig" not in str(caught.value)


def test_files_inside_and_beside():
    store = Address("s3://bucket", "runs/store")
    assert str(store / "tokens/a.arrow") == "s3://bucket/runs/store/tokens/a.arrow"
    assert str(store / "../other/./x") == "s3://bucket/runs/other/x"
    assert str(store / "../../../../x") == "s3://bucket/x"
    assert store.parent == Address("s3://bucket", "runs")
    assert store.name == "store"
