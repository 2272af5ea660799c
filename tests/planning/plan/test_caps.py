"""The cap on a domain's epochs is ruled in integers, to the token."""

from fractions import Fraction

import pytest

from mixture.planning.plan import tokens_over_cap


@pytest.mark.parametrize(
    ("drawn", "tokens", "cap", "over"),
    [
        (40, 10, Fraction(4), 0),
        (41, 10, Fraction(4), 1),
        (33, 10, Fraction(10, 3), 0),
        (34, 10, Fraction(10, 3), 1),
        (10**9, 10, None, 0),
        (0, 0, Fraction(4), 0),
        (5, 10, Fraction(0), 5),
        # A float of twelve or sixteen digits can not tell these from the cap.
        (4 * 10**18, 10**18, Fraction(4), 0),
        (4 * 10**18 + 1, 10**18, Fraction(4), 1),
    ],
)
def test_what_is_drawn_past_the_cap_is_counted_to_the_token(drawn, tokens, cap, over):
    assert tokens_over_cap(drawn, tokens, cap) == over
