"""Whatever is wrong with a file, its reader gives a value or an error with a code: never another exception.

MIXTURE_FUZZ_EXAMPLES says how many files are tried for each reader; without it, a few, and the same ones every time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from fuzz.mutations import CHANGES, LINES, TREE, changed_bytes, changed_lines, changed_tree
from fuzz.targets import Target, check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FEW = 12
ASKED = int(os.environ.get("MIXTURE_FUZZ_EXAMPLES", "0"))
BOUNDS = settings(
    max_examples=ASKED or FEW,
    derandomize=not ASKED,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
STORE_FILES = (
    "store.json", "domains.parquet", "documents.parquet", "documents_by_id.parquet", "document_ends.arrow", "tokens",
)  # fmt: skip
NAMES = [
    "spec", "lock", "sealed-lock", "sources", "masks", "overview", "condition", "state",
    "catalog-csv", "catalog-json", "catalog-jsonl", "catalog-parquet",
    *(f"store-{name}" for name in STORE_FILES),
    *(f"sealed-{name}" for name in STORE_FILES if name != "documents_by_id.parquet"),
    "linked-sources", "foreign-a.idx", "foreign-b.csv.gz", "foreign-headed.npy", "foreign-i.ds.index",
    "foreign-c.parquet", "foreign-d.arrow",
    "format-levanter", "format-marin-json", "format-megatron", "format-olmo", "format-olmix", "format-nanotron",
    "format-mosaic", "format-energon", "format-hf", "format-maxtext",
    "http-fuzzed", "http-what-if", "http-runs",
]  # fmt: skip


def test_all_targets_are_named_here(targets):
    assert sorted(targets) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_that_are_broken_are_right_to_begin_with(targets: Mapping[str, Target], name):
    for seed in targets[name].seeds:
        targets[name].read(seed)


@pytest.mark.parametrize("name", NAMES)
@BOUNDS
@given(data=st.data())
def test_bytes_of_a_file_are_changed(targets: Mapping[str, Target], name, data):
    target = targets[name]
    check(target, changed_bytes(data.draw(st.sampled_from(target.seeds)), data.draw(CHANGES)))


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not name.startswith(("store-d", "sealed-d", "foreign", "catalog-parquet"))]
)
@BOUNDS
@given(data=st.data())
def test_lines_or_values_of_a_file_are_changed(targets: Mapping[str, Target], name, data):
    target = targets[name]
    seed = data.draw(st.sampled_from(target.seeds))
    if target.is_json:
        check(target, changed_tree(seed, data.draw(TREE)))
    elif target.is_text:
        check(target, changed_lines(seed, data.draw(LINES)))
