"""Which ranges are asked for together: all of them, none twice, little beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mixture.data.storage import Address, ObjectFacts, Span, stored_object
from mixture.data.storage.spans import MOST_BYTES, NEAR_BYTES, runs

ONE, OTHER = (stored_object(Address("s3://b", name), ObjectFacts(1 << 40, "t", 0)) for name in ("one", "other"))
SPANS = st.lists(
    st.builds(
        lambda found, start, size: Span(found, start, start + size),
        st.sampled_from([ONE, OTHER]),
        st.integers(0, 1 << 24),
        st.integers(1, 1 << 19),
    ),
    max_size=40,
)


@given(SPANS)
def test_every_span_is_in_one_run_of_its_object(spans: list[Span]):
    found = list(runs(spans))
    assert sorted((str(s.object.address), s.start, s.stop) for run in found for s in run.spans) == sorted(
        {(str(s.object.address), s.start, s.stop) for s in spans}
    )
    for run in found:
        assert len({span.object for span in run.spans}) == 1
        assert len(run.spans) == 1 or run.whole.size <= MOST_BYTES
        asked = {byte for span in run.spans for byte in range(span.start // 512, -(-span.stop // 512))}
        assert run.whole.size // 512 <= 2 * len(asked) + 2, "more than half of it is thrown away"


def test_spans_that_are_near_are_one_run_and_others_are_not():
    def count(*parts: tuple[int, int]) -> int:
        return len(list(runs(Span(ONE, *part) for part in parts)))

    assert count((0, 1000), (1000, 2000), (2500, 3500)) == 1
    assert count((0, 1000), (2000, 3000)) == 2
    far = 10 * NEAR_BYTES
    assert count((0, far), (far + NEAR_BYTES - 1, 2 * far)) == 1
    assert count((0, far), (far + NEAR_BYTES, 2 * far)) == 2
    assert count(*((i * far, (i + 1) * far) for i in range(8))) == 2
    assert count((0, 10 * MOST_BYTES)) == 1
