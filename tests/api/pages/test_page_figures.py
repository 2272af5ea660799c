"""Figures as pages print them."""

import math

import pytest

from mixture.api.pages import figures


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (512, "512"),
        (999, "999"),
        (1000, "1.000K"),
        (999_949, "999.9K"),
        (999_960, "1.000M"),
        (18_749_985_914_880, "18.75T"),
        (18_005_144_633_344, "18.01T"),
        (92_394_931_129, "92.39B"),
        (-92_394_931_129, "-92.39B"),
        (2**63 - 1, "9,223,372T"),
    ],
)
def test_tokens_have_four_digits_and_the_unit_of_the_rounded_figure(count, shown):
    assert figures.tokens(count) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "–"),
        (0.0, "0%"),
        (1.0, "100%"),
        (0.0752, "7.52%"),
        (0.000012, "0.00120%"),
        (9.6e-9, "<0.0001%"),
        (0.9996, "100%"),
        (-0.0752, "-7.52%"),
        (-9.6e-9, ">-0.0001%"),
        (-0.0, "0%"),
    ],
)
def test_percentages_have_three_digits_and_never_an_exponent(share, shown):
    assert figures.percent(share) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "–"),
        (0.0, "0"),
        (2.0912, "2.09"),
        (0.0412, "0.0412"),
        (9.996, "10.0"),
        (0.00001, "<0.0001"),
        (1234.5, "1,235"),
        (-2.0912, "-2.09"),
        (-9.996, "-10.0"),
        (-0.00001, ">-0.0001"),
    ],
)
def test_epochs_have_three_digits(count, shown):
    assert figures.epochs(count) == shown


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_shown_as_nothing(number):
    assert {figures.percent(number), figures.epochs(number), figures.times(number)} == {figures.NOTHING}


@pytest.mark.parametrize("digits", range(-323, 309))
def test_any_number_is_shown_with_its_sign(digits):
    number = float(f"1e{digits}")
    for show in (figures.percent, figures.epochs, figures.times):
        shown, below = show(number), show(-number)
        assert below == f"-{shown}" if shown[0] != "<" else below.startswith(">-")
        assert len(below) < 40
        if digits > 30:
            assert float(shown.rstrip("%×")) == pytest.approx(number * (100 if shown[-1] == "%" else 1))


@pytest.mark.parametrize("count", [10**400, 10**30 + 1])
def test_any_count_is_shown_with_its_sign(count):
    assert figures.tokens(-count) == f"-{figures.tokens(count)}"
