"""Findings about steps that grow with the sequence length, and about batches that take much of a shuffle window."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from mixture.data.ingest import ingest
from mixture.data.linking import build_catalog
from mixture.lock import Amendment
from mixture.planning.plan import Level, Plan, finding_json, make_lock, make_plan
from mixture.planning.plan.findings.run import MOST_MET, _Window
from mixture.planning.spec import FindingCode, read_spec


def found(plan: Plan, code: FindingCode):
    return [finding for finding in plan.findings if finding.code is code]


# ---- the tokens of a step ---------------------------------------------------------------------------------------

LARGE = {"catalog": "domain,tokens\ncode,100000000\nweb,100000000\n"}


def growing(*lengths: int | str, own: str = "") -> list[str]:
    """Phases of 10 steps of these lengths; `own` is a key of the last."""
    phases = [f"phase: p{i}, steps: 10, sequence_length: {length}" for i, length in enumerate(lengths)]
    phases[-1] = f"{phases[-1].replace('steps: 10, ', '')}{own}"
    return [f"{{{phase}, weights: uniform}}" for phase in phases]


def test_a_phase_of_longer_sequences_in_the_same_batch_has_larger_steps(write_spec):
    plan = make_plan(write_spec(*growing(16, 128), **LARGE))
    (warning,) = found(plan, FindingCode.STEP_TOKENS_CHANGED)
    assert warning.level is Level.WARNING
    assert (warning.facts["tokens_before"], warning.facts["tokens"], warning.facts["first_step"]) == (128, 1024, 10)
    assert "from step 10 on a step has 1,024 tokens, before it 128" in warning.message
    assert warning.place.path == "batch"
    assert warning.hint == "`batch: 128 tokens` keeps the tokens of a step"


def kept(plan: Plan, write_spec, phases, **keys) -> Plan:
    """The plan of the same phases with the batch that the hint of the first finding names."""
    (warning,) = found(plan, FindingCode.STEP_TOKENS_CHANGED)
    batch = re.search(r"`batch: ([0-9_]+ tokens)`", warning.hint)[1]
    named = re.search(r"in phase '(\w+)'", warning.hint)
    if named is None:
        return make_plan(write_spec(*phases, **(keys | {"batch": batch})))
    own = [re.sub(r", batch: \w+ sequences", "", phase) for phase in phases]
    own = [one.replace("{", f"{{batch: {batch}, ", 1) if f"phase: {named[1]}," in one else one for one in own]
    return make_plan(write_spec(*own, **keys))


@pytest.mark.parametrize(
    ("lengths", "own", "batch"),
    [
        ((16, 128), "", "8 sequences"),
        ((128, 16), "", "8 sequences"),
        ((16, 64, 128), "", "16 sequences"),
        ((16, 128) * 10, "", "8 sequences"),
        ((16, 128), ", batch: 8 sequences", "8 sequences"),
    ],
)
def test_the_batch_of_the_hint_keeps_every_step(write_spec, lengths, own, batch):
    phases = growing(*lengths, own=own)
    plan = make_plan(write_spec(*phases, batch=batch, budget="1000 steps", **LARGE))
    again = kept(plan, write_spec, phases, batch=batch, budget="1000 steps", **LARGE)
    assert not found(again, FindingCode.STEP_TOKENS_CHANGED)
    assert len({phase.laid.batch_tokens for phase in again.phases}) == 1


def test_where_no_batch_of_whole_sequences_keeps_a_step_the_nearest_are_named(write_spec):
    plan = make_plan(write_spec(*growing(48, 64), batch="5 sequences", **LARGE))
    (warning,) = found(plan, FindingCode.STEP_TOKENS_CHANGED)
    nearest = "in phase 'p1' `batch: 192 tokens` or `batch: 256 tokens` comes nearest to the tokens of a step"
    assert warning.hint == nearest
    kept(plan, write_spec, growing(48, 64), batch="5 sequences", **LARGE)


@pytest.mark.parametrize(
    ("lengths", "own", "batch"),
    [
        ((16, 16), "", "8 sequences"),
        ((16, 128), "", "128 tokens"),
        ((16, 128), ", batch: 1 sequence", "8 sequences"),
        ((16, 128), ", batch: 2 sequences", "8 sequences"),
        ((16, 128), ", batch: 1024 tokens", "8 sequences"),
    ],
)
def test_a_batch_that_was_changed_or_is_in_tokens_is_no_slip(write_spec, lengths, own, batch):
    plan = make_plan(write_spec(*growing(*lengths, own=own), batch=batch, **LARGE))
    assert not found(plan, FindingCode.STEP_TOKENS_CHANGED)


def test_many_boundaries_are_one_message_with_the_largest_change_first(write_spec):
    plan = make_plan(write_spec(*growing(*(16, 32) * 9, 16, 256), budget="1000 steps", **LARGE))
    (warning,) = found(plan, FindingCode.STEP_TOKENS_CHANGED)
    assert len(warning.facts["boundaries"]) == 19
    assert warning.facts["boundaries"][0] == {
        "phase": "p19", "first_step": 190, "tokens_before": 128, "tokens": 2048,
    }  # fmt: skip
    assert "at 19 boundaries between phases" in warning.message
    assert warning.message.count(" from step ") == 5
    assert warning.message.endswith("and 14 more")
    assert finding_json(warning)["facts"]["boundaries"][0]["tokens"] == 2048


def test_an_amendment_says_it_of_its_own_boundary_and_of_those_to_come(write_spec):
    lock = make_lock(make_plan(write_spec("{phase: a, weights: uniform}", **LARGE)))
    phases = "{phase: a, until: 70%, weights: uniform}", "{phase: b, sequence_length: 64, weights: uniform}"
    later = make_plan(write_spec(*phases, **LARGE), amends=Amendment(lock, 30))
    (warning,) = found(later, FindingCode.STEP_TOKENS_CHANGED)
    assert warning.facts["first_step"] == 70
    both = make_plan(write_spec(*phases, sequence_length="32", **LARGE), amends=Amendment(lock, 30))
    (warning,) = found(both, FindingCode.STEP_TOKENS_CHANGED)
    assert sorted(one["first_step"] for one in warning.facts["boundaries"]) == [30, 70]
    past = make_plan(write_spec(*phases, **LARGE), amends=Amendment(make_lock(later), 80))
    assert not found(past, FindingCode.STEP_TOKENS_CHANGED)


# ---- windows ----------------------------------------------------------------------------------------------------

ONE = "{phase: p, weights: {web: 1}}"
LONG = {"sequence_length": "4096", "batch": "512 sequences", "budget": "3000 steps"}
WEB = "domain,tokens\nweb,3276800000000\n"


def met(plan: Plan, name: str, steps: int) -> float:
    """Of the sequences that the first steps read of a domain, those whose next one in the block is in the same step."""
    schedule, count = plan.schedule, 0
    rows = schedule.rows(0, schedule.positions_before(steps))
    of_step, _ = schedule.steps_and_slots(rows.position)
    own = rows.domain == schedule.domain_index(name)
    per_block = plan.data.block_tokens // schedule.length_of(0)
    for step in range(steps):
        here = set(rows.sequence[own & (of_step == step)].tolist())
        count += sum(one + 1 in here and (one + 1) % per_block > 0 for one in here)
    return count / int(np.count_nonzero(own))


def test_a_batch_of_half_a_window_is_found_with_the_figures_and_the_shuffle_that_avoids_it(write_spec):
    plan = make_plan(write_spec(ONE, catalog=WEB, **LONG))
    (warning,) = found(plan, FindingCode.BATCH_FILLS_WINDOW)
    assert warning.level is Level.WARNING
    assert (warning.facts["domain"], warning.facts["phase"]) == ("web", "p")
    assert (warning.facts["tokens"], warning.facts["window_tokens"]) == (512 * 4096, 64 * 65_536)
    assert (warning.facts["part"], warning.facts["met"]) == (Fraction(1, 2), Fraction(15, 32))
    assert "reads 50% of a shuffle window of domain 'web', 2,097,152 of 4,194,304 tokens" in warning.message
    shuffle = re.search(r"`shuffle: (\{.*?\})`", warning.hint)[1]
    assert shuffle == "{block: 65_536 tokens, window: 128 blocks}"
    assert not found(make_plan(write_spec(ONE, catalog=WEB, shuffle=shuffle, **LONG)), FindingCode.BATCH_FILLS_WINDOW)


@pytest.mark.parametrize(
    ("batch", "shuffle"),
    [
        (64, None), (256, None), (300, None), (512, None), (900, None), (3000, None),
        (512, "{block: 65536 tokens, window: 128 blocks}"), (512, "{block: 8192 tokens}"), (512, "{block: 4096 tokens}")
    ],
)  # fmt: skip
def test_the_part_is_the_most_of_a_steps_sequences_that_meet_their_neighbours(write_spec, batch, shuffle):
    keys = LONG | {"batch": f"{batch} sequences"} | ({} if shuffle is None else {"shuffle": shuffle})
    plan = make_plan(write_spec(ONE, catalog=WEB, **keys))
    warnings = found(plan, FindingCode.BATCH_FILLS_WINDOW)
    drawn = met(plan, "web", 30)
    if warnings:
        most = warnings[0].facts["met"]
        assert most > Fraction(1, 4)
        # A window ends inside of a step, on average, so that a third of it is in two steps.
        assert float(most) * 0.6 < drawn < float(most) + 0.02
    else:
        assert drawn < 0.27


def test_of_many_domains_and_phases_it_is_one_message_about_the_largest_part(write_spec):
    catalog = WEB + "big,3276800000000\nfew,20000000\nrare,3276800000000\n"
    shares = ("{web: 0.55, big: 0.3, few: 0.1, rare: 0.05}", "{web: 0.3, big: 0.6, few: 0.05, rare: 0.05}")
    phases = [f"{{phase: p{i}, share: 50%, weights: {share}}}" for i, share in enumerate(shares)]
    plan = make_plan(write_spec(*phases, catalog=catalog, **LONG))
    (warning,) = found(plan, FindingCode.BATCH_FILLS_WINDOW)
    assert (warning.facts["domain"], warning.facts["phase"]) == ("few", "p0")
    assert set(warning.facts["domains"]) == {"few", "web", "big"}
    assert "so have more than 25% in 2 other domains" in warning.message
    for name in warning.facts["domains"]:
        assert met(plan, name, 20) > 0.1
    shuffle = re.search(r"`shuffle: (\{.*?\})`", warning.hint)[1]
    assert not found(
        make_plan(write_spec(*phases, catalog=catalog, shuffle=shuffle, **LONG)), FindingCode.BATCH_FILLS_WINDOW
    )


def test_a_domain_of_too_few_blocks_needs_smaller_ones_and_where_lengths_differ_nothing_helps(write_spec):
    few = "domain,tokens\nweb,1000000\n"
    (warning,) = found(make_plan(write_spec(ONE, catalog=few, **LONG)), FindingCode.BATCH_FILLS_WINDOW)
    assert "block: 4_096 tokens" in warning.hint
    phases = "{phase: p, share: 90%, weights: {web: 1}}", "{phase: q, sequence_length: 65536, weights: {web: 1}}"
    (warning,) = found(make_plan(write_spec(*phases, catalog=few, **LONG)), FindingCode.BATCH_FILLS_WINDOW)
    assert warning.facts["phase"] == "p"
    assert warning.hint.startswith("no shuffle avoids it")


def test_an_amendment_does_not_name_a_shuffle_that_it_can_not_have(write_spec):
    small = LONG | {"batch": "64 sequences"}
    lock = make_lock(make_plan(write_spec(ONE, catalog=WEB, **small)))
    plan = make_plan(write_spec(ONE, catalog=WEB, **LONG), amends=Amendment(lock, 1000))
    (warning,) = found(plan, FindingCode.BATCH_FILLS_WINDOW)
    assert "shuffle:" not in warning.hint


def test_it_is_not_said_of_a_store_whose_documents_lie_in_a_random_order(write_spec, tmp_path):
    (tmp_path / "text.jsonl").write_text('{"text": "%s"}\n' % ("abcdefgh" * 4000) * 8)
    (tmp_path / "sources.yaml").write_text("domains: {web: {files: [text.jsonl], text: text}}\n")
    ingest(tmp_path / "sources.yaml", tmp_path / "store")
    np.save(tmp_path / "tokens.npy", np.arange(256_000, dtype=np.uint16) % 256)
    (tmp_path / "linked.yaml").write_text(
        "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:\n"
        "  web: {format: npy, files: [tokens.npy]}\n"
        "  zz: {format: store, path: store, domain: web}\n"
    )
    build_catalog(tmp_path / "linked.yaml", tmp_path / "linked")
    keys = {"sequence_length": "1024", "batch": "40 sequences", "budget": "5 steps"}
    half = "{phase: p, weights: %s}"
    names = {}
    for where, weights in (("store", "{web: 1}"), ("linked", "{web: 0.5, zz: 0.5}"), ("catalog.csv", "{web: 1}")):
        write_spec(half % weights, catalog="domain,tokens\nweb,256000\n", **keys)
        text = (tmp_path / "mixture.yaml").read_text()
        (tmp_path / "mixture.yaml").write_text(text.replace("catalog: catalog.csv", f"catalog: {where}"))
        plan = make_plan(read_spec(tmp_path / "mixture.yaml"))
        names[where] = [one.facts["domains"] for one in found(plan, FindingCode.BATCH_FILLS_WINDOW)]
    assert names == {"store": [], "linked": [["web"]], "catalog.csv": [["web"]]}


def test_in_integers_a_window_is_filled_exactly_where_more_than_the_limit_meet():
    for per_block in (1, 2, 4, 16):
        order = SimpleNamespace(per_block=per_block, window=8, per_epoch=100)
        for batch in (1, 7, 64):
            for share in (Fraction(i, 128) for i in range(1, 129)):
                window = _Window(SimpleNamespace(batch_sequences=batch), 0, share, order)
                assert window.is_filled is (window.met > MOST_MET)
