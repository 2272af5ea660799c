from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mixture.errors import UnitError
from mixture.units import (
    LARGEST_COUNT,
    Count,
    Quantity,
    Unit,
    decimal,
    format_count,
    format_exact,
    format_short,
    parse_count,
    parse_quantity,
    parse_weight,
    parse_whole,
    percent,
)


def tokens(text: str) -> int:
    return parse_count(text, units=(Unit.TOKENS,), bare=Unit.TOKENS).amount


@pytest.mark.parametrize(
    "text",
    [
        "15e12",
        "1.5e13",
        "1.5E+13",
        "15_000_000_000_000",
        "15000000000000",
        "15T",
        "15T tokens",
        "15T  tokens",
        "15000B tokens",
        "15_000_000M",
        "15000000000K",
        "+15T",
        "15.T",
        "15.00T",
    ],
)
def test_every_way_to_write_15_trillion_tokens_is_exactly_that(text):
    assert tokens(text) == 15_000_000_000_000


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("18.75T tokens", Unit.TOKENS, 18_750_000_000_000),
        ("1 token", Unit.TOKENS, 1),
        ("390251 steps", Unit.STEPS, 390_251),
        ("1 step", Unit.STEPS, 1),
        ("11264 sequences", Unit.SEQUENCES, 11_264),
        ("64 blocks", Unit.BLOCKS, 64),
        ("9.007199254740993e15 tokens", Unit.TOKENS, 2**53 + 1),
        ("9223372036854775807 tokens", Unit.TOKENS, LARGEST_COUNT),
    ],
)
def test_a_count_is_exact_and_keeps_its_unit(text, unit, amount):
    assert parse_count(text, units=(Unit.STEPS, Unit.TOKENS, Unit.SEQUENCES, Unit.BLOCKS)) == Count(amount, unit)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2e12T", "exponent-and-suffix"),
        ("18.75TB", "unknown-unit"),
        ("18.75 TB", "unknown-unit"),
        ("18.75 T", "unknown-unit"),
        ("4M docs", "unknown-unit"),
        ("18.75t", "unknown-unit"),
        ("18.75T Tokens", "unknown-unit"),
        ("5tokens", "unknown-unit"),
        ("0x10", "unknown-unit"),
        ("1__000", "unknown-unit"),
        ("2**40", "unknown-unit"),
        ("5 tokens tokens", "unknown-unit"),
        ("3 epochs", "wrong-unit"),
        ("390251 steps", "wrong-unit"),
        ("80%", "wrong-unit"),
        ("80K%", "unknown-unit"),
        ("1.5e-3", "not-whole"),
        ("0.5 tokens", "not-whole"),
        ("1.0000000000001T", "not-whole"),
        ("-5 tokens", "negative"),
        ("-0", "negative"),
        ("nan", "not-finite"),
        (".nan", "not-finite"),
        (".inf", "not-finite"),
        ("-.INF", "not-finite"),
        ("Infinity", "not-finite"),
        ("1e999999", "out-of-range"),
        ("1e-999999", "out-of-range"),
        ("1e99999999999999999999999999", "out-of-range"),
        ("9223372036854775808", "out-of-range"),
        ("9" * 79, "out-of-range"),
        ("0", "out-of-range"),
        ("9" * 81, "not-a-number"),
        ("", "not-a-number"),
        (" ", "not-a-number"),
        (".", "not-a-number"),
        ("e5", "not-a-number"),
        ("T", "not-a-number"),
        ("true", "not-a-number"),
        ("010", "not-a-number"),
        ("15,000", "not-a-number"),
        ("\u0661\u0662", "not-a-number"),
        ("5\ntokens\nsteps", "not-a-number"),
    ],
)
def test_what_is_not_a_number_of_tokens_is_refused(text, code):
    with pytest.raises(UnitError) as caught:
        tokens(text)
    assert caught.value.code == code


@pytest.mark.parametrize("text", ["4M docs", "3 epochs", "18.75 TB", "many"])
def test_a_wrong_unit_is_answered_with_the_units_that_are_right_there(text):
    with pytest.raises(UnitError) as caught:
        parse_count(text, units=(Unit.SEQUENCES, Unit.TOKENS))
    assert repr(text) in str(caught.value)
    assert caught.value.hint == "right here: 512 sequences or 100B tokens"
    assert "epochs" not in caught.value.hint


def test_a_slip_in_a_unit_is_answered_with_the_unit_that_is_near():
    with pytest.raises(UnitError, match=r"did you mean 'sequences'\?"):
        parse_count("11264 sequnces", units=(Unit.SEQUENCES, Unit.TOKENS))


def test_a_bare_number_is_refused_where_nothing_fixes_its_unit():
    with pytest.raises(UnitError) as caught:
        parse_count("11264", units=(Unit.SEQUENCES, Unit.TOKENS))
    assert caught.value.code == "missing-unit"
    assert parse_count("11264", units=(Unit.SEQUENCES,), bare=Unit.SEQUENCES).amount == 11_264


@pytest.mark.parametrize(
    ("text", "share"), [("80%", "4/5"), ("80 %", "4/5"), ("0.8", "4/5"), ("9.6e-9", "3/312500000")]
)
def test_a_share_is_an_exact_fraction_of_one(text, share):
    quantity = parse_quantity(text, units=(Unit.PERCENT,), bare=Unit.PERCENT)
    assert quantity == Quantity(Fraction(share), Unit.PERCENT)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("0.3", Fraction(3, 10), Unit.PERCENT),
        (".3", Fraction(3, 10), Unit.PERCENT),
        ("30%", Fraction(3, 10), Unit.PERCENT),
        ("0", Fraction(0), Unit.PERCENT),
        ("4.51T", Fraction(4_510_000_000_000), Unit.TOKENS),
        ("4.51T tokens", Fraction(4_510_000_000_000), Unit.TOKENS),
        ("7 tokens", Fraction(7), Unit.TOKENS),
    ],
)
def test_a_weight_is_a_share_unless_a_suffix_or_a_unit_makes_it_tokens(text, value, unit):
    assert parse_weight(text) == Quantity(value, unit)


def test_a_whole_number_that_counts_nothing_has_no_unit():
    assert parse_whole("0", least=0) == 0
    with pytest.raises(UnitError) as caught:
        parse_whole("7 tokens", least=0)
    assert (caught.value.code, caught.value.hint) == ("wrong-unit", "a plain number is right here")


@given(st.integers(1, LARGEST_COUNT))
@example(18_005_144_633_344)
def test_a_formatted_count_reads_back_as_itself(count):
    assert tokens(format_count(count).replace(",", "_")) == count


@given(st.integers(0, 10**30), st.integers(0, 30))
def test_an_exact_decimal_reads_back_as_itself(digits, places):
    value = Fraction(digits, 10**places)
    assert parse_quantity(format_exact(value), units=(Unit.TOKENS,), bare=Unit.TOKENS).value == value


@given(st.integers(10_000, LARGEST_COUNT))
def test_a_short_count_is_within_half_of_its_fourth_digit(count):
    text = format_short(count)
    digits = text.rstrip("KMBT")
    power = {"K": 3, "M": 6, "B": 9, "T": 12}[text[-1]]
    assert len(digits.replace(".", "").strip("0")) <= 4
    assert abs(Fraction(digits) * 10**power - count) * 2000 <= count


@pytest.mark.parametrize(
    ("count", "short"),
    [
        (0, "0"),
        (9_999, "9999"),
        (10_000, "10K"),
        (390_251, "390.3K"),
        (999_999, "1M"),
        (46_137_344, "46.14M"),
        (18_005_144_633_344, "18.01T"),
        (18_750_000_000_000, "18.75T"),
        (-18_750_000_000_000, "-18.75T"),
        (12_345_678_900_000_000, "12350T"),
    ],
)
def test_short_counts(count, short):
    assert format_short(count) == short


def test_counts_for_people_have_all_their_digits():
    assert format_count(18_005_144_633_344) == "18,005,144,633,344"
    assert format_exact(Fraction(1, 3)) == "1/3"
    assert format_exact(Fraction(-1, 8)) == "-0.125"


def quantity_or_error(text: str) -> Quantity | UnitError:
    try:
        return parse_quantity(text, units=tuple(Unit), bare=Unit.TOKENS)
    except UnitError as error:
        return error


@given(st.text(max_size=90))
@example("1" + "_0" * 40)
def test_any_text_is_a_quantity_or_a_unit_error(text):
    outcome = quantity_or_error(text)
    assert outcome.value >= 0 if isinstance(outcome, Quantity) else str(outcome).isprintable()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 3), "0.333333333333"),
        (Fraction(2, 3), "0.666666666667"),
        (Fraction(1561004, 5), "312200.8"),
        (Fraction(18_005_144_633_344_001, 1), "18005144633344001"),
        (Fraction(96, 10**10), "0.0000000096"),
        (Fraction(0), "0"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1000), "1000"),
    ],
)
def test_fractions_are_shown_as_plain_decimals(value, text):
    assert decimal(value) == text


def test_percentages_are_exact_and_have_as_many_digits_as_asked_for():
    assert percent(Fraction(1, 3), digits=4) == "33.33%"
    assert percent(Fraction(1, 8000), digits=2) == "0.013%"  # half up, where the nearest float is rounded down
    assert (percent(Fraction(1)), percent(Fraction(0)), percent(None)) == ("100%", "0%", "")
