"""Exports are those that the trainers' own classes accepted, and drew the lock's counts from.

`python -m benchmarks.judges --record` makes the fixture anew, with the trainers installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from format_trips import Written, written

from benchmarks.judges.record import ACCEPTED, allowed, content, differences
from benchmarks.judges.text import ASKED, DOCUMENT, DOCUMENTS, SPEC, drawn_by
from mixture.formats import FORMATS, export

KEPT: dict[str, Any] = json.loads(ACCEPTED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The mixture that the trainers were given, over a table of the same sizes."""
    cells = "".join(f"{name},{count * DOCUMENT},{count}\n" for name, count in DOCUMENTS.items())
    return written(
        tmp_path_factory.mktemp("judged"), SPEC.replace("catalog: store\n", ""), f"domain,tokens,documents\n{cells}"
    )


@pytest.mark.parametrize("trainer", KEPT)
def test_an_export_is_what_its_trainer_accepted(trainer: str, judged: Written) -> None:
    asked = ASKED[trainer]
    made = export(
        judged.lock, FORMATS[asked.format], catalog=judged.catalog, path_template=asked.template, unit=asked.unit
    )
    assert {name: content(name, text) for name, text in made.files.items()} == KEPT[trainer]["files"]


@pytest.mark.parametrize("trainer", KEPT)
def test_what_its_trainer_drew_is_what_the_lock_draws(trainer: str, judged: Written) -> None:
    drawn = KEPT[trainer]["drawn"]
    assert drawn
    assert set(drawn) <= set(KEPT[trainer]["files"])
    assert not differences(drawn, drawn_by(judged.lock))


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


def test_the_trainers_that_install_are_all_in_the_fixture() -> None:
    assert set(KEPT) >= {"energon", "megatron", "mosaic", "olmo"}
    assert Path(ACCEPTED).stat().st_size < 1 << 16
