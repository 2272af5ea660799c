"""Held-out documents are chosen by their ids: whatever comes to a domain, they stay where they are."""

from __future__ import annotations

import hashlib
import random
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from data.makers import WriteSources, text_of, write_lines

from mixture.data.ingest import ingest
from mixture.data.ingest.holdout import Holdout, cut
from mixture.data.store import open_store, verify_store
from mixture.data.texts import IngestProgress, Reason, Stage
from mixture.errors import MixtureError
from mixture.planning.catalog import read_catalog


def rows(numbers: range) -> list[dict[str, str]]:
    return [{"text": f"text of {n} " * (1 + n % 5), "id": f"d{n}"} for n in numbers]


def ids_of(folder: Path) -> dict[str, set[str]]:
    store = open_store(folder)
    return {
        name: set(store.documents(name, 0, domain.tokens)["id"].to_pylist()) if domain.tokens else set()
        for name, domain in store.domains.items()
    }


def chance(identity: str, seed: int = 0) -> int:
    data = f"mixture-holdout/1\x1f{seed}\x1f{identity}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def test_documents_whose_chance_is_below_the_share_are_held_out_and_stay_as_a_domain_grows(
    tmp_path: Path, sources: WriteSources
):
    path = sources("holdout: {share: 10%}\ndomains: {web: {files: ['*.jsonl'], id: id}}")
    write_lines(tmp_path / "a.jsonl", rows(range(500)))
    ingest(path, tmp_path / "small")
    write_lines(tmp_path / "b.jsonl", rows(range(500, 2000)))
    report = ingest(path, tmp_path / "large")
    small, large = ids_of(tmp_path / "small"), ids_of(tmp_path / "large")
    expected = {f"d{n}" for n in range(2000) if chance(f"d{n}") * 10 < 2**64}
    assert large == {"web": {f"d{n}" for n in range(2000)} - expected, "web@validation": expected}
    assert 150 < len(expected) < 250
    assert small["web@validation"] == expected & {f"d{n}" for n in range(500)}
    assert [(one.name, one.files) for one in report.domains] == [("web", 2), ("web@validation", None)]
    assert verify_store(tmp_path / "large") == []


def test_the_seed_chooses_other_documents(tmp_path: Path, sources: WriteSources):
    path = sources("holdout: {share: 50%}\ndomains: {web: {files: [a.jsonl], id: id}}")
    write_lines(tmp_path / "a.jsonl", rows(range(100)))
    for seed in (0, 1):
        ingest(path, tmp_path / str(seed), seed=seed)
        expected = {f"d{n}" for n in range(100) if chance(f"d{n}", seed) < 2**63}
        assert ids_of(tmp_path / str(seed))["web@validation"] == expected


def test_a_document_of_two_domains_is_held_out_of_both(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", rows(range(100)))
    write_lines(tmp_path / "b.jsonl", rows(range(50, 150)))
    text = "holdout: {share: 30%}\ndomains:\n  a: {files: [a.jsonl], id: id}\n  b: {files: [b.jsonl], id: id}\n"
    ingest(sources(text), tmp_path / "store")
    ids = ids_of(tmp_path / "store")
    trained, held = ids["a"] | ids["b"], ids["a@validation"] | ids["b@validation"]
    assert trained.isdisjoint(held)
    assert ids["a@validation"] & ids["b@validation"]


def test_documents_that_share_an_id_are_on_one_side_and_duplicates_are_counted(tmp_path: Path, sources: WriteSources):
    both = rows(range(60)) + [row | {"text": "another"} for row in rows(range(60))] + rows(range(60))
    write_lines(tmp_path / "a.jsonl", both)
    report = ingest(sources("domains: {a: {files: [a.jsonl], id: id, holdout: {share: 0.5}}}"), tmp_path / "store")
    ids = ids_of(tmp_path / "store")
    assert ids["a"].isdisjoint(ids["a@validation"])
    assert [one.documents for one in report.domains] == [2 * len(ids["a"]), 2 * len(ids["a@validation"])]
    assert sum(one.dropped[Reason.DUPLICATE] for one in report.domains) == 60


def test_without_ids_the_text_decides(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", [{"text": f"t{n}"} for n in range(200)])
    ingest(sources("holdout: {share: 20%}\ndomains: {a: {files: [a.jsonl]}}"), tmp_path / "store")
    ids = ids_of(tmp_path / "store")["a@validation"]
    texts = [f"t{n}" for n in range(200)]
    assert ids == {one for one in map(text_id, texts) if chance(one) * 5 < 2**64}


def text_id(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@pytest.mark.parametrize("most", [0, 1, 20, 100, 1000, 5000, 10**6])
def test_a_limit_takes_the_smallest_chances_first_and_never_more_tokens(
    tmp_path: Path, sources: WriteSources, most: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mixture.data.texts.lines._PIECE", 500)
    monkeypatch.setattr("mixture.data.ingest.work._JOB_BYTES", 2000)
    monkeypatch.setattr("mixture.data.ingest.merge._RANGE_DOCUMENTS", 10)
    mine = rows(range(200))
    random.Random(most).shuffle(mine)
    write_lines(tmp_path / "a.jsonl", [*mine, *mine[:30]])
    path = sources(f"holdout: {{share: 50%, max: {most} tokens}}\ndomains: {{a: {{files: [a.jsonl], id: id}}}}")
    report = ingest(path, tmp_path / "store")
    expected, left = set(), most
    for row in sorted(mine, key=lambda row: chance(row["id"])):
        left -= len(row["text"]) + 1
        if left < 0 or chance(row["id"]) >= 2**63:
            break
        expected.add(row["id"])
    ids = ids_of(tmp_path / "store")
    assert ids.get("a@validation", set()) == expected
    assert ids["a"] == {row["id"] for row in mine} - expected
    assert report.not_held == (() if expected else ("a",))
    assert sum(one.tokens for one in report.domains) == sum(len(row["text"]) + 1 for row in mine)


def test_what_a_limit_gives_back_is_stored_as_if_never_held_out(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", rows(range(100)))
    text = "domains: {a: {files: [a.jsonl], id: id}}\n"
    plain = ingest(sources(text), tmp_path / "plain")
    for limit in ("share: 0", "share: 100%, max: 3", "share: 50%, max: 0"):
        report = ingest(sources(text + f"holdout: {{{limit}}}"), tmp_path / limit.replace("%", ""))
        assert report.digest == plain.digest
        assert report.not_held == (() if limit == "share: 0" else ("a",))


def test_all_of_a_domain_can_be_held_out_in_the_order_of_its_own(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", rows(range(50)))
    plain = open_store(ingest(sources("domains: {a: {files: [a.jsonl], id: id}}"), tmp_path / "plain").path)
    path = sources("domains: {a: {files: [a.jsonl], id: id, holdout: {share: 100%}}}")
    store = open_store(ingest(path, tmp_path / "store").path)
    assert store.domains["a"].tokens == 0
    tokens = plain.domains["a"].tokens
    assert text_of(store.read("a@validation", 0, tokens)) == text_of(plain.read("a", 0, tokens))


def test_a_domain_has_its_own_holdout_or_that_of_all_whether_a_column_names_it_or_not(
    tmp_path: Path, sources: WriteSources
):
    write_lines(tmp_path / "c.jsonl", [row | {"label": name} for name in "xy" for row in rows(range(40))])
    write_lines(tmp_path / "x.jsonl", rows(range(40, 80)))
    text = "holdout: {share: 1}\nfiles: [c.jsonl]\nid: id\ndomain_column: label\n"
    text += "domains: {x: {files: [x.jsonl], id: id, holdout: {share: 0%}, labels: {quality: 3}}}\n"
    report = ingest(sources(text), tmp_path / "store")
    assert {one.name: one.documents for one in report.domains} == {"x": 80, "y": 0, "y@validation": 40}


def test_labels_go_with_what_is_held_out_and_no_condition_selects_it(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", rows(range(50)))
    path = sources("domains: {a: {files: [a.jsonl], labels: {quality: 3}, holdout: {share: 50%}}}")
    catalog = read_catalog(ingest(path, tmp_path / "store").path)
    assert catalog.table["quality"].to_pylist() == [3, 3]
    assert catalog.select("quality = 3") == (0,)


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("holdout: {max: 3}", "missing-key", ":2:10"),
        ("holdout: 1%", "not-a-mapping", ":2:10"),
        ("holdout: {share: 101%}", "out-of-range", ":2:18"),
        ("holdout: {share: -1%}", "negative", ":2:18"),
        ("holdout: {share: 3 tokens}", "wrong-unit", ":2:18"),
        ("holdout: {share: 1%, max: 1.5}", "not-whole", ":2:27"),
        ("holdout: {share: 1%, most: 1}", "unknown-key", ":2:22"),
    ],
)
def test_a_holdout_that_can_not_be_is_refused(tmp_path: Path, sources: WriteSources, text: str, code: str, where: str):
    write_lines(tmp_path / "a.jsonl", rows(range(2)))
    with pytest.raises(MixtureError) as caught:
        ingest(sources("domains: {a: {files: [a.jsonl]}}\n" + text), tmp_path / "store")
    assert caught.value.code == code
    assert f"SOURCES.yaml{where}" in str(caught.value)


def test_the_bound_of_a_share_is_exact():
    assert Holdout(Fraction(1), None).bound == 2**64
    assert Holdout(Fraction(1, 2**64), None).bound == 1
    assert Holdout(Fraction(1, 10**40), None).bound == 1  # the chance 0 is below any share
    assert Holdout(Fraction(1, 3), None).bound == 2**64 // 3 + 1
    assert Holdout(Fraction(0), None).bound == 0


def test_a_cut_agrees_with_taking_one_after_the_other():
    random_state = np.random.default_rng(1)
    for _ in range(200):
        bound = int(random_state.choice([1, 7, 2**20, 2**64]))
        count = int(random_state.integers(1, 30))
        chances = random_state.integers(0, bound - 1, count, np.uint64, endpoint=True)
        tokens = random_state.integers(1, 9, count)
        most = int(random_state.integers(1, 150))
        found = cut(lambda c=chances, t=tokens: iter([(c[:3], t[:3]), (c[3:], t[3:])]), bound=bound, most=most)
        taken, end = 0, bound
        for value in sorted(set(chances.tolist())):
            taken += int(tokens[chances == value].sum())
            if taken > most:
                end = value if (chances < value).any() else 0
                break
        assert found == end


def test_an_ingest_that_was_stopped_goes_on_with_another_holdout_as_if_new(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "c.jsonl", [row | {"label": name} for name in "xy" for row in rows(range(60))])
    text = "files: [c.jsonl]\nid: id\ndomain_column: label\ndomains: {x: {files: ['x*'], id: id}}\n"
    write_lines(tmp_path / "x.jsonl", rows(range(60, 100)))
    limits = ("share: 50%", "share: 20%, max: 100", "share: 20%, max: 200")
    expected = {}
    for limit in limits:
        out = tmp_path / f"expected {limit}"
        expected[limit] = ingest(sources(text + f"holdout: {{{limit}}}"), out).digest
    assert len(set(expected.values())) == 3
    for before, after in product(limits, limits):
        stopped = StoppedError()
        out = tmp_path / f"{before} {after}"
        with pytest.raises(StoppedError):
            ingest(sources(text + f"holdout: {{{before}}}"), out, progress=stopped.at_the_last_write)
        assert ingest(sources(text + f"holdout: {{{after}}}"), out).digest == expected[after]


class StoppedError(Exception):
    """Ends an ingest when a domain is written."""

    def at_the_last_write(self, now: IngestProgress) -> None:
        if now.stage is Stage.WRITE and now.domain == "y" and now.done == now.total:
            raise self
