"""What is planned of domains together, and whether one of them is read too often: in integers, not in floats."""

from fractions import Fraction

import pytest

from mixture.api.figures.plans import PlannedDomains
from mixture.planning.plan import fraction_of, json_value

HELD = 10**17


def plan_of(drawn):
    """A plan of one domain that may be read four times, as far as it is looked at here."""
    epochs, cap = json_value(Fraction(drawn, HELD)), json_value(Fraction(4))
    domain = {"domain": "a", "tokens": HELD, "tokens_drawn": drawn, "epochs": epochs, "max_epochs": cap}
    return {"phases": [], "domains": [domain], "tokens": drawn}


@pytest.mark.parametrize(("drawn", "over"), [(4 * HELD, False), (4 * HELD + 1, True)])
def test_one_token_past_the_cap_is_past_it(drawn, over):
    sums = PlannedDomains(plan_of(drawn)).sums(["a", "not there"])
    assert (sums.over, sums.cap) == (over, 4.0)


def test_a_figure_of_json_is_the_fraction_it_was_made_of_unless_that_is_too_long():
    assert fraction_of(json_value(Fraction(10, 3))) == Fraction(10, 3)
    long = json_value(Fraction(1, 3**2000))
    assert long["ratio"] is None
    assert fraction_of(long) == Fraction(long["decimal"])
