"""docs/schedule-format.md: its values are the library's; a program written from it alone passes the golden files."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.pages import ROOT, blocks, worked_values
from hypothesis import given, settings
from schedule.asking import answers
from schedule.making import from_fields, to_fields
from schedule.random_runs import runs
from search_lengths import examples

from docs import schedule_by_the_page as by_the_page
from mixture.errors import ScheduleError
from mixture.lock import read_lock
from mixture.schedule import Schedule, ScheduleData
from mixture.schedule.apportion import apportion
from mixture.schedule.layout import lay_segments
from mixture.schedule.order import DomainOrder, Permutations
from mixture.schedule.permute import Permutation, key64, mix64, stream64
from mixture.schedule.step_slots import Stretch, golden_stride
from mixture.schedule.tree import Tree
from mixture.schedule.windows import Windows
from mixture.stream.ranks import rank_slots

PAGE = "schedule-format.md"
FIELDS = json.loads(next(block.text for block in blocks(PAGE) if block.language == "json"))
GOLDEN = sorted(path for path in (ROOT / "tests" / "golden").glob("*.json") if not path.name.endswith(".lock.json"))


def of_the_page() -> dict[str, Any]:
    """What the examples call, by the program that was written from the page."""
    run = by_the_page.Schedule(FIELDS)
    functions = ("key", "mix64", "out", "perm", "inverse", "stride", "counts", "item", "weights")
    methods = ("step_and_slot", "first_item", "place", "layout", "next_draw", "left_out", "sequence")
    return {
        **{name: getattr(by_the_page, name) for name in functions},
        **{name: getattr(run, name) for name in methods},
        "row": lambda position: tuple(value for name, value in run.at(position).items() if name != "first_token"),
        "history": lambda step: by_the_page.history(FIELDS, step),
        "rank_slots": lambda batch, rank, ranks: range(rank * batch // ranks, (rank + 1) * batch // ranks),
    }


def of_the_library() -> dict[str, Any]:
    """The same by the library."""
    data = from_fields(FIELDS)
    run, permutations = Schedule(data), Permutations(data.seed)
    domains = {domain.name: domain for domain in data.domains}

    def order_of(name: str, length: int) -> DomainOrder:
        return DomainOrder(data, domains[name], length, permutations)

    laid = lay_segments(data, lambda d, length: order_of(data.domains[d].name, length))
    stretches = [stretch for segment in laid for stretch in segment.stretches]

    def stretch_of(step: int) -> tuple[Stretch, int]:
        stretch = next(stretch for stretch in reversed(stretches) if stretch.first_step <= step)
        return stretch, step - stretch.first_step

    def first_item(step: int) -> int:
        stretch, j = stretch_of(step)
        return stretch.origin + j * stretch.batch

    def place(step: int, slot: int) -> int:
        stretch, j = stretch_of(step)
        return int(stretch.layout_places(j, j + 1, np.array([slot]))[0])

    def layout(step: int) -> list[tuple[int, int]]:
        rows = run.rows(run.positions_before(step), run.batch_of(step))
        return sorted(zip(rows.domain.tolist(), rows.draw.tolist(), strict=True))

    def step_and_slot(position: int) -> tuple[int, int]:
        step = run.step_of(position)
        return step, position - run.positions_before(step)

    def row(position: int) -> tuple[object, ...]:
        rows = run.at([position])
        columns = (rows.draw, rows.epoch, rows.sequence, rows.tokens)
        return *step_and_slot(position), run.names[int(rows.domain[0])], *(int(column[0]) for column in columns)

    def next_draw(name: str, k: int, last: int, length: int) -> int:
        handoff = order_of(name, last).next_window(k)
        return order_of(name, length).first_draw(handoff.epoch, handoff.window)

    def sequence(name: str, length: int, k: int) -> int:
        flat, starts = Windows(length, permutations).sequences([(order_of(name, length), k, k + 1)])
        return int(flat[starts[0]])

    return {
        "key": key64,
        "mix64": mix64,
        "out": stream64,
        "perm": lambda n, k, i: Permutation(n, k)(i),
        "inverse": lambda n, k, j: Permutation(n, k).inverse(j),
        "stride": golden_stride,
        "weights": lambda *shares: apportion([Fraction(share) for share in shares], 10**15),
        "counts": lambda weights, key, x: Tree(tuple(weights), key).counts(x).tolist(),
        "item": lambda weights, key, d, k: Tree(tuple(weights), key).item(d, k),
        "step_and_slot": step_and_slot,
        "first_item": first_item,
        "place": place,
        "layout": layout,
        "next_draw": next_draw,
        "left_out": lambda i: list(run.handoffs()[i].tokens_skipped),
        "sequence": sequence,
        "row": row,
        "history": run.history,
        "rank_slots": rank_slots,
    }


def computed(expression: str, names: dict[str, Any]) -> object:
    """The value of an example's left side."""
    return eval(expression, names)  # the page is ours


@pytest.mark.parametrize("names", [of_the_page, of_the_library])
def test_every_worked_value_is_what_the_page_and_the_library_compute(names: Callable[[], dict[str, Any]]) -> None:
    examples = worked_values(PAGE)
    assert len(examples) > 30
    known = names()
    assert {left: computed(left, known) for left, _ in examples} == {
        left: ast.literal_eval(right) for left, right in examples
    }


def of_positions(lock: dict[str, Any], positions: Iterable[int]) -> list[dict[str, Any]]:
    """What that program answers at positions of a lock, of which only the fields that decide the order may be given."""
    run = by_the_page.Schedule({"format": 1, "features": []} | lock)
    return [{"position": position} | run.at(position) for position in positions]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_program_written_from_the_page_alone_gives_the_golden_answers(path: Path) -> None:
    told = json.loads(path.read_text(encoding="utf-8"))
    lock = json.loads((ROOT / told["lock"]).read_text(encoding="utf-8"))
    assert of_positions(lock, [row["position"] for row in told["positions"]]) == told["positions"]
    steps = [said["step"] for said in told["history"]]
    assert [{"step": step, "history": by_the_page.history(lock, step)} for step in steps] == told["history"]


@settings(max_examples=examples(60))
@given(data=runs())
def test_that_program_reads_random_runs_of_every_kind_as_the_library_does(data: ScheduleData) -> None:
    ours, fields = Schedule(data), to_fields(data)
    last = ours.num_sequences - 1
    positions = sorted({*range(min(last, 20)), *(i * last // 40 for i in range(41))})
    assert answers(ours, ours.at(positions)) == of_positions(fields, positions)
    assert by_the_page.history(fields, data.steps // 2) == ours.history(data.steps // 2)


def without_features(lock: dict[str, Any]) -> dict[str, Any]:
    """A lock from before the first release."""
    return {name: value for name, value in lock.items() if name != "features"}


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        (FIELDS | {"format": 2}, "2"),
        (FIELDS | {"features": ["images", "sound"]}, "images"),
        (without_features(FIELDS), "features"),
    ],
)
def test_that_program_refuses_a_lock_that_it_cannot_read(lock: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        by_the_page.Schedule(lock)


@pytest.mark.parametrize("position", [-1, 60])
def test_a_position_outside_the_run_has_no_answer(position: int) -> None:
    with pytest.raises(IndexError):
        by_the_page.Schedule(FIELDS).at(position)
    with pytest.raises(ScheduleError, match="not in a run of 60 sequences"):
        Schedule(from_fields(FIELDS)).at([position])


def test_that_program_finds_the_digest_and_the_check_of_a_lock() -> None:
    path = ROOT / "mixtures" / "demo" / "mixture.lock.json"
    fields = json.loads(path.read_text(encoding="utf-8"))
    assert by_the_page.sha256_of({name: fields[name] for name in fields if name != "digest"}) == read_lock(path).digest
    last = fields["check"][-1]["position"]
    rows = of_positions(fields, sorted({i * last // 7 for i in range(8)}))
    kept = ("position", "domain", "draw", "sequence")
    assert [{name: row[name] for name in kept} for row in rows] == fields["check"]


def test_that_program_has_nothing_of_the_library() -> None:
    imported = ast.parse((ROOT / "tests" / "docs" / "schedule_by_the_page.py").read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(imported) if isinstance(node, ast.ImportFrom)}
    names |= {one.name for node in ast.walk(imported) if isinstance(node, ast.Import) for one in node.names}
    assert names <= sys.stdlib_module_names
