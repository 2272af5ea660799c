"""Figures as pages print them."""

import pytest

from api.pages import figures


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
    ],
)
def test_epochs_have_three_digits(count, shown):
    assert figures.epochs(count) == shown
