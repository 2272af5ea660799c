"""What a step's page shows, made of a loaded mixture and nothing else."""

import pyarrow as pa
import pytest
from api_helpers import MIXTURES
from mixture_folder import write_mixture

from mixture.api.middleware.problems import Problem
from mixture.api.pages.links import ServedLinks
from mixture.api.pages.render import render
from mixture.api.pages.step.page import step_view
from mixture.api.pages.step.sequences import Attribute, StoreState
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.overviews import overview_of
from mixture.api.registry.stores import Stores
from mixture.stream import rank_slots


@pytest.fixture(scope="module")
def mixtures():
    return BuiltinMixtures([MIXTURES], [], Stores([])).all()


def test_what_a_step_reads_is_what_the_schedule_draws(mixtures):
    mixture = mixtures["demo"]
    schedule = mixture.lock.schedule()
    view = step_view(mixture, 15_259)
    drawn = dict(zip(schedule.names, schedule.counts(15_260) - schedule.counts(15_259), strict=True))
    assert {one.key: one.sequences for one in view.domains} == {name: n for name, n in drawn.items() if n}
    assert sum(one.tokens for one in view.domains) == view.tokens == view.sequences * view.sequence_length
    assert view.tokens_so_far == int(schedule.tokens(15_260).sum())
    assert (view.phase, view.phase_first_step, view.next_phase) == ("midtraining", 15_259, None)
    assert view.history == schedule.history(15_259)


def test_weights_are_those_of_the_lock_at_the_step_and_add_up_in_groups(mixtures):
    mixture = mixtures["marin-535b-a23b"]
    view = step_view(mixture, 200_000, overview=overview_of(mixture))
    weights = mixture.lock.data.segments[1].weights
    asked = {domain.name: w / 10**15 for domain, w in zip(mixture.lock.data.domains, weights, strict=True) if w}
    assert {one.key: one.weight for one in view.domains} == asked
    assert view.by == "cluster"
    assert len(view.groups) == 40
    assert sum(one.weight for one in view.groups) == pytest.approx(1)
    assert sum(one.sequences for one in view.groups) == view.sequences
    assert next(one.title for one in view.groups if one.key == "c28") == "Performance Logs and Low-Level Code"


def test_domains_come_in_the_order_that_is_asked_for_and_of_none_the_most_read_come_first(mixtures):
    by_name = step_view(mixtures["demo"], 7, sort="key")
    assert [one.key for one in by_name.domains] == sorted(one.key for one in by_name.domains)
    most = step_view(mixtures["demo"], 7)
    assert most.sort == "-sequences"
    assert [one.sequences for one in most.domains] == sorted((one.sequences for one in most.domains), reverse=True)


@pytest.mark.parametrize(
    ("asked", "code", "hint"),
    [
        ({"sort": "-tokns"}, "unknown-sort", "did you mean 'tokens'?"),
        ({"by": "kin"}, "unknown-column", "did you mean 'kind'?"),
        ({"rank": 3}, "invalid-request", "ranks count from 0 to world_size - 1"),
        ({"rank": 3, "world_size": 3}, "rank-invalid", "ranks count from 0 to world_size - 1"),
    ],
)
def test_what_there_is_not_is_refused_with_what_is_near(mixtures, asked, code, hint):
    with pytest.raises(Problem) as caught:
        step_view(mixtures["demo"], 7, **asked)
    assert (caught.value.status_code, caught.value.code, caught.value.hint) == (422, code, hint)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A mixture of 3,000 domains, two of each kind; a step has sequences of 1,200 of them."""
    folder = tmp_path_factory.mktemp("wide") / "m"
    rows = "".join(f"d{i:04d},k{i // 2:04d},9000\n" for i in range(3000))
    write_mixture(
        folder,
        "mixture: wide\ncatalog: cells.csv\nsequence_length: 10\nbatch: 1200 sequences\nbudget: 10 steps\n"
        "phases:\n  - {phase: only, weights: uniform}\n",
        cells=f"domain,kind,tokens\n{rows}",
    )
    (mixture,) = BuiltinMixtures([folder], [], Stores([])).all().values()
    return mixture


@pytest.mark.parametrize(("whole", "shown"), [(False, 50), (True, 1000)])
def test_the_page_of_very_many_domains_is_bounded_and_its_data_are_whole(wide, whole, shown):
    view = step_view(wide, 0, by="kind", whole=whole)
    assert (len(view.listed), len(view.listed_groups)) == (shown, 100)
    assert len(view.read) == 1200
    assert (view.table().num_rows, len(view.groups)) == (3000, 1500)
    page = render("step.html", ServedLinks("http://a.example", "", "/mixtures/wide/steps/0"), view)
    assert page.count("<tr>") < shown + 200
    assert f"The first {shown:,} of 1,200" in page
    assert "1,800 domains that have a weight read nothing in this step." in page


def test_domains_that_read_nothing_are_counted_and_not_listed(wide):
    view = step_view(wide, 0, sort="key", whole=True)
    assert all(one.sequences for one in view.listed)
    assert any(not one.sequences for one in view.domains)


@pytest.mark.parametrize("world_size", [8, 7])
def test_ranks_read_the_slots_that_streams_give_them(mixtures, world_size):
    view = step_view(mixtures["demo"], 15_259, first_slot=100, world_size=world_size)
    assert view.is_even == (view.sequences % world_size == 0)
    for one in view.slots:
        assert one.slot in rank_slots(view.sequences, one.rank, world_size)
    assert [(one.first_slot, one.slots) for one in view.ranks] == [
        (held.start, len(held)) for held in (rank_slots(view.sequences, r, world_size) for r in range(world_size))
    ]


def test_pages_of_slots_cover_the_step_once(mixtures):
    slots, first = [], 0
    while first is not None:
        view = step_view(mixtures["demo"], 0, first_slot=first)
        slots += [one.slot for one in view.slots]
        first = view.next_slot
    assert slots == list(range(view.sequences))
    assert view.store is StoreState.NONE
    assert view.slots[0].documents is None


@pytest.mark.parametrize("world_size", [3, 5, 1000])
def test_pages_of_a_rank_cover_its_slots_once(mixtures, world_size):
    size = mixtures["demo"].lock.schedule().batch_of(0)
    for rank in (0, 1, world_size - 2, world_size - 1):
        slots, first = [], None
        while True:
            view = step_view(mixtures["demo"], 0, first_slot=first, rank=rank, world_size=world_size)
            assert {one.rank for one in view.slots} <= {rank}
            slots += [one.slot for one in view.slots]
            first = view.next_slot
            if first is None:
                break
        assert slots == list(rank_slots(size, rank, world_size)) == list(range(view.begin_slot, view.end_slot))
        page = render("step.html", ServedLinks("http://a.example", "", "/mixtures/demo/steps/0"), view)
        assert f"Sequences of rank {rank:,}" in page
        begin = view.first_position + view.begin_slot
        assert (f"first_position={begin}&amp;last_position={begin + len(slots) - 1}" in page) is bool(slots)
        assert (f"Rank {rank:,} reads nothing of this step." in page) is (not slots)


def test_a_slot_behind_the_last_is_the_last(mixtures):
    view = step_view(mixtures["demo"], 0, first_slot=10**9)
    assert [one.slot for one in view.slots] == [view.sequences - 1]


def test_the_table_has_one_row_a_domain(mixtures):
    view = step_view(mixtures["demo"], 3, by="kind")
    table = view.table()
    assert table.column_names == [
        "domain", "group_kind", "weight", "sequences", "share", "tokens", "tokens_so_far", "epochs_so_far",
    ]  # fmt: skip
    assert table["domain"].to_pylist() == [one.key for one in view.domains]
    assert pa.compute.sum(table["sequences"]).as_py() == view.sequences


def test_the_table_of_a_rank_has_what_that_rank_reads(mixtures):
    views = [step_view(mixtures["marin-535b-a23b"], 450, rank=rank, world_size=4) for rank in range(4)]
    tables = [view.table().to_pylist() for view in views]
    assert [sum(row["rank_sequences"] for row in table) for table in tables] == [2816] * 4
    for rows in zip(*tables, strict=True):
        assert sum(row["rank_sequences"] for row in rows) == rows[0]["sequences"]
        assert sum(row["rank_tokens"] for row in rows) == rows[0]["tokens"]


def test_a_step_behind_the_last_is_refused(mixtures):
    with pytest.raises(Problem) as caught:
        step_view(mixtures["demo"], 19_073)
    assert caught.value.code == "step-out-of-range"


@pytest.mark.parametrize(
    ("value", "is_link"),
    [("https://a.example/b", True), ("HTTP://a.example", True), ("javascript:alert(1)", False), ("a/b.py", False)],
)
def test_only_addresses_of_web_pages_are_links(value, is_link):
    assert Attribute(name="url", value=value).is_link is is_link
