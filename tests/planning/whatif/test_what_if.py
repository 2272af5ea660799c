"""A spec planned with changes: budget, boundaries, shares; all errors at once; for another folder."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from mixture.errors import SpecError
from mixture.planning.plan import make_plan, plan_json
from mixture.planning.spec import Form, read_spec
from mixture.planning.whatif import (
    Changes,
    ChangesError,
    PhaseChange,
    Points,
    WhatIf,
    changed_name,
    original_of,
    parse_changes,
    parse_share,
    what_if,
)

DEMO = Path(__file__).parents[3] / "mixtures" / "demo"
PHASES = ["pretraining", "midtraining", "stage1.5"]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The demo's spec in a folder of its own."""
    for name in ("mixture.yaml", "catalog.csv"):
        shutil.copy(DEMO / name, tmp_path)
    return tmp_path / "mixture.yaml"


def changed(spec: Path, *settings: str, by: str | None = None, path: Path | None = None) -> WhatIf:
    plan = make_plan(read_spec(spec))
    changes = parse_changes(settings, [phase.name for phase in plan.phases], by=by)
    return what_if(original_of(plan, spec.read_text(encoding="utf-8")), changes, path=path)


def weights(result: WhatIf, phase: int) -> dict[str, Fraction]:
    names = [domain.name for domain in result.plan.domains]
    return dict(zip(names, result.plan.phases[phase].shares, strict=True))


def errors_of(*settings: str) -> list[tuple[str, str]]:
    with pytest.raises(ChangesError) as caught:
        parse_changes(settings, PHASES)
    return [(error.place.path, error.code) for error in caught.value.errors if error.place]


def test_budget_boundary_and_a_share_are_changed_and_the_comments_stay(demo: Path) -> None:
    result = changed(demo, "budget=1000 steps", "phases.pretraining.until=90%", "phases.pretraining.weights.math=13%")
    assert [phase.laid.steps for phase in result.plan.phases] == [900, 100]
    assert weights(result, 0)["math"] == Fraction(13, 100)
    lines = result.spec_text.splitlines()
    assert lines[0] == (
        "# What if: budget 1000 steps; phase 'pretraining' until 90%; in phase 'pretraining' 'math' 13%."
    )
    assert lines[1] == "# Made of mixture.yaml, whose own comments follow."
    assert "mixture: demo-what-if" in lines
    assert "max_epochs: 4                        # the catalog gives two domains their own" in lines


def test_the_other_domains_of_a_phase_of_groups_keep_their_proportions_and_a_remark_says_so(demo: Path) -> None:
    before, result = weights(changed(demo), 0), changed(demo, "phases.pretraining.weights.math=+10")
    after = weights(result, 0)
    assert after["math"] == Fraction(13, 100)
    assert float(after["papers"] / before["papers"]) == pytest.approx(87 / 97)
    others, replay = result.remarks
    assert others.startswith("phase 'pretraining': the other 8 weighed domains were 97% together and are 87%: ")
    assert replay == "phase 'midtraining' replays 'pretraining', and changes with it"


def test_a_group_is_all_domains_with_a_value_in_the_column(demo: Path) -> None:
    after = weights(changed(demo, "phases.pretraining.groups.web=30%", by="kind"), 0)
    assert float(sum(after[name] for name in ("web-low", "web-mid", "web-high", "forums"))) == pytest.approx(0.3)
    with pytest.raises(ChangesError) as caught:
        changed(demo, "phases.pretraining.groups.web=30%")
    assert caught.value.code == "unknown-column"


def test_the_changed_spec_has_the_same_plan_here_and_in_another_folder(demo: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "changed.yaml", tmp_path / "specs" / "changed.yaml"):
        result = changed(demo, "budget=1B", "phases.midtraining.weights.math=20%", path=path)
        path.parent.mkdir(exist_ok=True)
        path.write_text(result.spec_text, encoding="utf-8")
        assert plan_json(make_plan(read_spec(path))) == plan_json(result.plan)
    assert "catalog: ../catalog.csv" in path.read_text(encoding="utf-8")


def test_without_changes_the_text_is_that_of_the_spec(demo: Path) -> None:
    result = changed(demo)
    assert result.spec_text == demo.read_text(encoding="utf-8")
    assert result.remarks == ()


def test_all_errors_in_shares_are_reported_with_their_paths(demo: Path) -> None:
    with pytest.raises(ChangesError) as caught:
        changed(demo, "phases.pretraining.weights.maths=1%", "phases.midtraining.weights.math=-99")
    error = caught.value
    assert error.paths == (
        ("phases", "pretraining", "weights", "maths"),
        ("phases", "midtraining", "weights", "math"),
    )
    assert [single.code for single in error.errors] == ["unknown-domain", "share-below-zero"]
    assert error.errors[0].hint == "did you mean 'math'?"
    assert error.message == "unknown domain 'maths', and 1 more"


def test_of_many_errors_the_first_twenty_are_listed_and_all_are_counted() -> None:
    with pytest.raises(ChangesError) as caught:
        parse_changes([f"phases.pretraining.weights.d{i}=much" for i in range(50)], PHASES)
    assert (len(caught.value.errors), caught.value.count) == (20, 50)


@pytest.mark.parametrize("name", [None, "specs/changed.yaml"])
def test_an_error_in_a_value_has_the_line_of_the_original(demo: Path, name: str | None) -> None:
    lines = demo.read_text(encoding="utf-8").splitlines()
    with pytest.raises(SpecError) as caught:
        changed(demo, "budget=5 sheep", path=None if name is None else demo.parent / name)
    place = caught.value.place
    assert place is not None
    assert place.file == str(demo)
    assert place.line == next(i for i, line in enumerate(lines, 1) if line.startswith("budget:"))


def test_keys_are_read_where_names_have_points_and_equals_signs() -> None:
    settings = ["phases.stage1.5.weights.a.b=c=+2", "phases.stage1.5.until=step 5", "budget = 17T"]
    share = Points(Fraction(2, 100))
    expected = PhaseChange(weights=(("a.b=c", share),), extent=(Form.UNTIL, "step 5"))
    assert parse_changes(settings, PHASES) == Changes(phases=(("stage1.5", expected),), budget="17T")


def test_keys_that_are_not_known_are_refused_with_the_nearest() -> None:
    settings = {
        "budgt": "did you mean 'budget'?",
        "phases.pretraining.sahre": "did you mean 'phases.pretraining.share'?",
        "phases.pretraining.weight.math": "did you mean 'phases.pretraining.weights.math'?",
        "phases.pretraning.share": "did you mean 'pretraining'?",
    }
    with pytest.raises(ChangesError) as caught:
        parse_changes([f"{key}=10%" for key in settings], PHASES)
    assert [error.hint for error in caught.value.errors] == list(settings.values())
    assert [error.code for error in caught.value.errors] == ["unknown-key"] * 3 + ["unknown-phase"]


def test_settings_that_are_not_whole_or_conflict_are_refused() -> None:
    assert errors_of("budget") == [("budget", "missing-value")]
    assert errors_of("budget=") == [("budget", "missing-value")]
    assert errors_of("budget=1T", "budget=2T") == [("budget", "duplicate-key")]
    lengths = ("phases.midtraining.share=25%", "phases.midtraining.until=step 5")
    assert errors_of(*lengths) == [("phases.midtraining.until", "key-conflict")]


@pytest.mark.parametrize(
    ("text", "share"),
    [("10%", Fraction(1, 10)), ("0.1", Fraction(1, 10)), ("-5%", Points(Fraction(-5, 100))), ("+1 point", None)],
)
def test_a_share_is_a_part_of_the_phase_or_points(text: str, share: Fraction | Points | None) -> None:
    assert parse_share("a", text) == (share or Points(Fraction(1, 100)))


def test_a_number_above_one_without_a_unit_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        parse_share("a", "17")
    assert (caught.value.code, caught.value.hint) == ("share-above-one", "did you mean '17%'?")


def test_a_changed_name_is_never_too_long_and_stays_when_changed_again() -> None:
    assert changed_name("demo") == "demo-what-if" == changed_name("demo-what-if")
    assert len(changed_name("d" * 200)) == 200
