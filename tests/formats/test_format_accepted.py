"""Exports are those that the trainers' own classes accepted, and drew the lock's counts from.

`python -m benchmarks.judges --record` makes the fixture again, with the trainers installed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.judges.record import ACCEPTED, allowed, content, differences
from benchmarks.judges.text import ASKED, drawn_by, make_text
from mixture.formats import FORMATS, export_mixture
from mixture.lock import Lock
from mixture.planning.catalog import Catalog, read_catalog

KEPT: dict[str, Any] = json.loads(ACCEPTED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lock, Catalog]:
    """The mixture that the trainers were given, over its store."""
    folder = tmp_path_factory.mktemp("judged")
    _, lock = make_text(folder)
    return lock, read_catalog(folder / "store")


@pytest.mark.parametrize("trainer", KEPT)
def test_an_export_is_what_its_trainer_accepted(trainer: str, judged: tuple[Lock, Catalog]) -> None:
    lock, catalog = judged
    asked = ASKED[trainer]
    made = export_mixture(lock, FORMATS[asked.format], catalog=catalog, path_template=asked.template, unit=asked.unit)
    assert {name: content(name, text) for name, text in made.files.items()} == KEPT[trainer]["files"]


@pytest.mark.parametrize("trainer", [trainer for trainer in KEPT if trainer != "olmix"])  # which draws nothing itself
def test_what_its_trainer_drew_is_what_the_lock_draws(trainer: str, judged: tuple[Lock, Catalog]) -> None:
    drawn = KEPT[trainer]["drawn"]
    assert drawn
    assert {name.partition(":")[0] for name in drawn} <= set(KEPT[trainer]["files"])
    assert not differences(drawn, drawn_by(judged[0]))


@pytest.mark.parametrize("trainer", KEPT)
def test_an_export_is_for_the_version_that_accepted_it(trainer: str) -> None:
    package, version = next(iter(KEPT[trainer]["versions"].items()))
    assert f"{package} {version}" in str(FORMATS[trainer].version)


def test_a_count_that_is_not_the_locks_is_found() -> None:
    lock = {"early": {"web": 100, "rare": 2}}
    assert allowed("m.mosaic.1-early.choose.yaml", 100) == 0
    assert not differences({"m.mosaic.1-early.yaml": {"web": 99, "rare": 3}}, lock)
    assert differences({"m.mosaic.1-early.choose.yaml": {"web": 99, "rare": 2}}, lock)
    assert differences({"m.megatron.1-early.txt": {"web": 102}}, lock) == [
        "m.megatron.1-early.txt: rare: 0 sequences, and 2 in the lock",
        "m.megatron.1-early.txt: web: 102 sequences, and 100 in the lock",
    ]


def test_every_trainer_that_is_asked_is_in_the_fixture() -> None:
    assert KEPT.keys() == ASKED.keys()
