"""What `first_spec` writes for a catalog, whatever it holds, plans without an error, and its comments are true."""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_lengths import examples
from spec_schema import schema_errors
from stream_helpers import DOMAINS, make_store

from mixture.data.linking import build_catalog
from mixture.errors import PlanError
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.init import FirstSpec, first_spec
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import Rule, Unimax, read_spec

MIXTURES = Path(__file__).parents[3] / "mixtures"


def table(folder: Path, header: str, *rows: object) -> Catalog:
    with (folder / "cells.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return read_catalog(folder / "cells.csv")


def written(catalog: Catalog, folder: Path, **options: object) -> FirstSpec:
    """What is written, read once more from its file: the plan is the one that was given."""
    made = first_spec(catalog, folder / "mixture.yaml", table=str(catalog.source), **options)
    (folder / "mixture.yaml").write_text(made.text, encoding="utf-8")
    spec = read_spec(folder / "mixture.yaml")
    plan = make_plan(spec)
    assert not plan.refusals
    assert plan.data == made.plan.data
    assert make_lock(plan).data == plan.data
    assert not schema_errors(made.text)
    lines = made.text.split("\n")
    assert lines[0] == "# yaml-language-server: $schema=mixture.schema.json"
    said = dict(re.findall(r"^(\w+): .* # (.*)$", made.text, re.MULTILINE))
    assert re.fullmatch(rf"{plan.tokens:,} tokens, [0-9.e+]+% of what is read here", said["budget"])
    assert said["batch"].endswith(f": {plan.phases[0].laid.batch_tokens:,} tokens")
    read = [domain for domain in plan.domains if domain.tokens_drawn]
    weighed = [d for d in range(len(plan.domains)) if any(phase.shares[d] for phase in plan.phases)]
    held = sum(plan.domains[d].tokens for d in weighed)
    assert said["catalog"] == f"{len(weighed):,} of its domains are read here: {held:,} tokens"
    most = re.search("the most is ([0-9.]+)[.] ", said["max_epochs"])
    assert most
    assert float(most[1]) == pytest.approx(float(max(domain.epochs for domain in read)), rel=5e-3)
    return made


@pytest.mark.parametrize("file", sorted(MIXTURES.glob("*/mixture.yaml")), ids=lambda path: path.parent.name)
def test_catalogs_of_the_mixtures(file, tmp_path):
    source = read_spec(file).catalog
    catalog = read_catalog(source.path, domain=source.domain)
    made = written(catalog, tmp_path, domain=source.domain)
    assert Fraction(97, 100) < Fraction(made.plan.tokens, catalog.tokens) <= 1
    assert [phase.name for phase in made.plan.phases] == ["pretraining", "midtraining"]


def test_a_column_of_quality_makes_groups(tmp_path):
    catalog = table(tmp_path, "domain,quality,tokens", *((f"q{q}", q, 10**9) for q in range(5)))
    made = written(catalog, tmp_path)
    spec = read_spec(tmp_path / "mixture.yaml")
    assert [(group.where, group.share) for group in spec.phases[0].weights.groups] == [
        ("quality >= 4", Fraction(1, 5)), ("quality < 4", Fraction(4, 5)),
    ]  # fmt: skip
    best = next(domain for domain in made.plan.domains if domain.name == "q4")
    assert best.epochs > 1 > made.plan.domains[0].epochs


def test_without_one_the_end_of_the_run_is_as_even_as_can_be(tmp_path):
    written(table(tmp_path, "domain,tokens", ("large", 10**10), ("small", 10**7)), tmp_path)
    spec = read_spec(tmp_path / "mixture.yaml")
    assert [phase.weights for phase in spec.phases] == [Rule.PROPORTIONAL, Unimax(max_epochs=Fraction(1))]


def test_stores_and_catalogs_of_token_files(tmp_path):
    store = make_store(tmp_path / "text", DOMAINS).path
    made = written(read_catalog(store), tmp_path)
    assert made.plan.tokenizer == "bytes"
    keys = (
        f"  web: {{format: store, path: {store}, attributes: {{quality: 3}}}}\n  code: {{format: store, path: {store}}}"
    )
    head = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndomains:"
    (tmp_path / "sources.yaml").write_text(f"{head}\n{keys}\n", encoding="utf-8")
    build_catalog(tmp_path / "sources.yaml", tmp_path / "linked")
    (tmp_path / "other").mkdir()
    written(read_catalog(tmp_path / "linked"), tmp_path / "other")


ODD = {
    "one domain": ("domain,tokens", [("a", 10**9)]),
    "one tiny domain": ("domain,tokens", [("a", 1)]),
    "a few tokens": ("domain,tokens", [("a", 3), ("b", 5), ("c", 1)]),
    "empty domains": ("domain,tokens", [("a", 0), ("b", 10**6), ("c", 0), ("d", 77)]),
    "short domains": ("domain,tokens,quality", [(f"d{i}", 900 + i, i % 3) for i in range(500)]),
    "held-out domains": ("domain,tokens", [("a", 10**6), ("a@validation", 10**5)]),
    "two tokenizers": ("domain,tokens,tokenizer", [("a", 10**6, "o'x"), ("b", 10**5, "y"), ("c", 10**5, "")]),
    "few epochs": ("domain,tokens,max_epochs", [("a", 10**6, "0.5"), ("b", 10**7, ""), ("c", 10**6, "8")]),
    "few epochs of all": ("domain,tokens,max_epochs", [("a", 10**6, "0.25"), ("b", 10**7, "0.5")]),
    "names that YAML knows": ("domain,tokens", [("no", 10**6), ("null", 10**6), ("1e3", 10**5), ("[x]", 10**5)]),
    "odd names": ("domain,tokens", [("a: 'b' \"c\"", 10**6), ("é#·", 10**6), (" x", 10**5), ("{", 10**5)]),
    "odd columns": ('domain,tokens,"Quality ""x"" (1.0)"', [("a", 10**6, 1), ("b", 10**6, 2)]),
    "one quality": ("domain,tokens,quality", [("a", 10**6, 1), ("b", 10**6, 1)]),
    "quality of some": ("domain,tokens,quality", [("a", 10**6, 1), ("b", 10**6, ""), ("c", 10**6, 2)]),
    "quality that is text": ("domain,tokens,quality", [("a", 10**6, "high"), ("b", 10**6, "low")]),
    "quality below 0": ("domain,tokens,score", [("a", 10**6, -3), ("b", 10**6, -1)]),
    "the best are next to nothing": ("domain,tokens,quality", [("a", 10**9, 1), ("b", 10**4, 9)]),
    "one of them is all": ("domain,tokens", [("a", 10**12), ("b", 5000)]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("tokens", [None, 1, 1000, 10**8])
def test_odd_catalogs(name, tokens, tmp_path):
    header, rows = ODD[name]
    names = next(csv.reader([header]))
    with (tmp_path / "cells.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    written(read_catalog(tmp_path / "cells.csv"), tmp_path, tokens=tokens)


def test_five_thousand_domains(tmp_path):
    rows = ((f"c{i:04}", i % 7, 1000 + 37 * i * i) for i in range(5000))
    made = written(table(tmp_path, "domain,quality,tokens", *rows), tmp_path)
    assert len(made.text) < 3000


def test_a_catalog_without_text_is_refused(tmp_path):
    with pytest.raises(PlanError) as refused:
        written(table(tmp_path, "domain,tokens", ("a", 0), ("b@validation", 10)), tmp_path)
    assert refused.value.code == "catalog-empty"


@given(data=st.data())
@settings(
    max_examples=examples(25),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_catalog(data, tmp_path):
    sizes = data.draw(st.lists(st.integers(0, 14).flatmap(lambda e: st.integers(0, 10**e)), min_size=1, max_size=12))
    epochs = st.sampled_from(["", "", "", "2.5", "10"])
    rows = [
        (f"d{i}", size, data.draw(st.sampled_from(["", 0, 1, 2])), data.draw(epochs), data.draw(st.sampled_from("xy")))
        for i, size in enumerate(sizes)
    ]
    header = data.draw(
        st.sampled_from(["domain,tokens,quality,max_epochs,tokenizer", "domain,tokens,kind,max_epochs,of"])
    )
    catalog = table(tmp_path, header, *rows)
    tokens = data.draw(st.none() | st.integers(0, 13).map(lambda e: 10**e))
    if any(not domain.max_epochs for domain in catalog.domains if domain.tokens):
        written(catalog, tmp_path, tokens=tokens)
