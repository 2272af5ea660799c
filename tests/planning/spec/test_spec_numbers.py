from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.planning.spec import BatchSize, Budget, Extent, Form, Shuffle
from mixture.planning.yamlfile import SpecFileError
from mixture.units import Unit


@pytest.mark.parametrize("text", ["15e12", "1.5e13", "15_000_000_000_000", "15T tokens", "15T", '"15T tokens"'])
def test_a_budget_in_tokens_is_exact_however_it_is_written(read_keys, text):
    assert read_keys(f"budget: {text}").budget == Budget(tokens=15_000_000_000_000)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("390251 steps", Budget(steps=390_251)),
        ("{steps: 390251}", Budget(steps=390_251)),
        ("{steps: 390251, tokens: 18.75T}", Budget(steps=390_251, tokens=18_750_000_000_000)),
        ("{tokens: 18.75T tokens}", Budget(tokens=18_750_000_000_000)),
    ],
)
def test_a_budget_is_in_steps_or_tokens_or_both(read_keys, text, budget):
    assert read_keys(f"budget: {text}").budget == budget


def test_a_batch_is_in_sequences_or_tokens_and_the_unit_stays(read_keys):
    assert read_keys("batch: 2048 sequences").batch == BatchSize(amount=2048, unit=Unit.SEQUENCES)
    assert read_keys("batch: 8388608 tokens").batch == BatchSize(amount=8_388_608, unit=Unit.TOKENS)


def test_numbers_whose_key_fixes_the_unit_may_stand_bare(read_keys):
    spec = read_keys(
        "seed: 9223372036854775807\nsequence_length: 8192\nmax_epochs: 2.5\nshuffle: {block: 262144, window: 64 blocks}"
    )
    assert spec.seed == 2**63 - 1
    assert spec.sequence_length == 8192
    assert spec.max_epochs == Fraction(5, 2)
    assert spec.shuffle == Shuffle(block_tokens=262_144, window_blocks=64)


@pytest.mark.parametrize(
    ("line", "form", "amount", "unit"),
    [
        ("share: 80%", Form.SHARE, Fraction(4, 5), Unit.PERCENT),
        ("share: 0.8", Form.SHARE, Fraction(4, 5), Unit.PERCENT),
        ("tokens: 15T", Form.TOKENS, 15_000_000_000_000, Unit.TOKENS),
        ("steps: 108000", Form.STEPS, 108_000, Unit.STEPS),
        ("steps: 108000 steps", Form.STEPS, 108_000, Unit.STEPS),
        ("until: step 108000", Form.UNTIL, 108_000, Unit.STEPS),
        ("until: 108000 steps", Form.UNTIL, 108_000, Unit.STEPS),
        ("until: 80%", Form.UNTIL, Fraction(4, 5), Unit.PERCENT),
        ("until: 108000/390251", Form.UNTIL, Fraction(108_000, 390_251), Unit.PERCENT),
        ("share: 1/3", Form.SHARE, Fraction(1, 3), Unit.PERCENT),
        ("until: 15T tokens", Form.UNTIL, 15_000_000_000_000, Unit.TOKENS),
    ],
)
def test_a_phase_has_its_extent_in_any_of_the_forms(read_phase, line, form, amount, unit):
    assert read_phase(f"{line}\nweights: uniform").extent == Extent(form=form, amount=amount, unit=unit)


def test_only_the_last_phase_may_leave_its_length_out(read_phase, refusal_at_mark):
    assert read_phase("weights: uniform").extent is None
    error = refusal_at_mark(
        "mixture: test\ncatalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\nbudget: 100 steps\nphases:\n"
        "  - ▶phase: one\n    weights: uniform\n  - phase: two\n    weights: uniform\n"
    )
    assert error.code == "phase-without-length"
    assert "'one'" in str(error)


def test_a_phase_may_set_its_own_length_and_batch(read_phase):
    phase = read_phase("sequence_length: 65536\nbatch: 4M tokens\nweights: uniform")
    assert phase.sequence_length == 65_536
    assert phase.batch == BatchSize(amount=4_000_000, unit=Unit.TOKENS)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("budget: 1.5e-3", "not-whole"),
        ("budget: 2e12T", "exponent-and-suffix"),
        ("budget: 18.75 TB", "unknown-unit"),
        ("budget: 4M docs", "unknown-unit"),
        ("budget: 3 epochs", "wrong-unit"),
        ("budget: 80%", "wrong-unit"),
        ("budget: 0", "out-of-range"),
        ("budget: -1", "negative"),
        ("budget: 1e999999999", "out-of-range"),
        ('budget: "15000"', "quoted-number"),
        ("budget: ", "missing-value"),
        ("budget: true", "not-a-number"),
        ("budget: [1]", "not-a-value"),
        ("budget: {}", "missing-key"),
        ("budget: {steps: 0}", "out-of-range"),
        ("batch: 11264", "missing-unit"),
        ("batch: 0 sequences", "out-of-range"),
        ("batch: 3000000000 sequences", "out-of-range"),
        ("batch: 390251 steps", "wrong-unit"),
        ("seed: -1", "negative"),
        ("seed: 9223372036854775808", "out-of-range"),
        ("seed: 0.5", "not-whole"),
        ("seed: 1 step", "wrong-unit"),
        ("seed: null", "not-a-number"),
        ("sequence_length: 0", "out-of-range"),
        ("sequence_length: 2147483648", "out-of-range"),
        ("max_epochs: 0", "out-of-range"),
        ("max_epochs: .inf", "not-finite"),
        ("shuffle: {window: 64 tokens}", "wrong-unit"),
        ("shuffle: {block: 64 blocks}", "wrong-unit"),
        ("shuffle: 64 blocks", "not-a-mapping"),
    ],
)
def test_a_wrong_number_is_refused(read_keys, line, code):
    with pytest.raises(SpecFileError) as caught:
        read_keys(line)
    assert [error.code for error in caught.value.errors] == [code]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("share: 0", "out-of-range"),
        ("share: 101%", "out-of-range"),
        ("share: 80", "out-of-range"),
        ("share: 5 steps", "wrong-unit"),
        ("tokens: 0", "out-of-range"),
        ("tokens: 80%", "wrong-unit"),
        ("steps: 0", "out-of-range"),
        ("steps: 1.5", "not-whole"),
        ("until: 108000", "missing-unit"),
        ("until: 0.8", "missing-unit"),
        ("until: step 80%", "wrong-unit"),
        ("until: step 0", "out-of-range"),
        ("until: 0%", "out-of-range"),
        ("until: the end", "not-a-number"),
        ("until: 4/3", "out-of-range"),
        ("until: 0/3", "out-of-range"),
        ("until: 1/0", "unknown-unit"),
        ("steps: 1/2", "unknown-unit"),
        ("mix: 16", "unknown-key"),
        ("batch: 4M", "missing-unit"),
    ],
)
def test_a_wrong_number_in_a_phase_is_refused(read_phase, line, code):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"{line}\nweights: uniform")
    assert [error.code for error in caught.value.errors] == [code]


def test_a_phase_with_two_extents_is_refused(read_phase):
    with pytest.raises(SpecFileError, match="'share' and 'until' are both given") as caught:
        read_phase("share: 80%\nuntil: 80%\nweights: uniform")
    assert caught.value.code == "key-conflict"
