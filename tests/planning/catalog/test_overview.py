"""An overview is read as it was written, and what is none is refused with the path of keys."""

from __future__ import annotations

import json
import re

import pytest

from mixture.errors import CatalogError
from mixture.planning.catalog import (
    Overview,
    OverviewCluster,
    OverviewDomain,
    OverviewMade,
    OverviewQuality,
    OverviewSource,
    QualityFeature,
    check_overview,
    read_overview,
    write_overview,
)

FULL = Overview(
    clusters=(
        OverviewCluster(
            id="03", title="Kernel and Device Drivers", terms=("kernel", "irq"), documents=812, tokens=None
        ),
        OverviewCluster(id="no", title="数学", tokens=2**62),
    ),
    domains=(OverviewDomain(domain="c03q4", typical=("linux/1.rst", "a\u2028b")),),
    quality=OverviewQuality(
        features=(QualityFeature(name="compression", about="bytes after zlib ÷ before", weight=0.25),),
        cut_offs=(0.1, 0.5, 1, 2.5),
        about="fifths",
    ),
    made=OverviewMade(
        method="spherical k-means",
        embedding="TF-IDF, SVD to 128",
        k=2,
        k_train=40,
        seed=0,
        documents=813,
        bytes=10**9,
        sources=(OverviewSource(name="linux-doc", documents=813, bytes=10**9),),
        date="2026-11-29",
        digest="0" * 64,
        notes="made up",
    ),
)


def fields() -> dict:
    return {"format": 1, "clusters": [{"id": "c0", "title": "News"}], "made": {"method": "by hand"}}


def test_an_overview_that_was_written_is_read_as_it_was(tmp_path):
    write_overview(FULL, tmp_path / "overview.json")
    assert read_overview(tmp_path / "overview.json") == FULL
    assert [path.name for path in tmp_path.iterdir()] == ["overview.json"]


def test_a_written_overview_has_a_cluster_and_a_domain_a_line(tmp_path):
    write_overview(FULL, tmp_path / "overview.json")
    lines = (tmp_path / "overview.json").read_text(encoding="utf-8").split("\n")
    assert sum('"id": ' in line for line in lines) == 2
    assert sum('"typical": ' in line for line in lines) == 1


def test_what_is_not_known_may_be_left_out(write):
    overview = read_overview(write("overview.json", json.dumps(fields())))
    assert (overview.rows, overview.columns) == ("cluster", "quality")
    assert overview.clusters == (OverviewCluster(id="c0", title="News"),)
    assert (overview.domains, overview.quality, overview.made.k) == ((), None, None)


CLUSTER = {"id": "c0", "title": "News"}
WRONG = {
    "of another format": ({"format": 2}, "overview-format", "format", "`format` is 2"),
    "with true as its format": ({"format": True}, "overview-format", "format", "True"),
    "with a key that nothing reads": ({"cluster": []}, "overview-field", "cluster", "nothing reads"),
    "with a number as id": ({"clusters": [{"id": 3, "title": "x"}]}, "overview-field", "clusters[0].id", "string"),
    "without a title": ({"clusters": [CLUSTER, {"id": "c1"}]}, "overview-field", "clusters[1].title", "required"),
    "with an id twice": ({"clusters": [CLUSTER, CLUSTER]}, "overview-twice", "clusters[1].id", "'c0'"),
    "with a domain twice": ({"domains": [{"domain": "a"}] * 2}, "overview-twice", "domains[1].domain", "'a'"),
    "with 21 typical documents": (
        {"domains": [{"domain": "a", "typical": ["x"] * 21}]}, "overview-field", "domains[0].typical", "20"
    ),
    "without clusters": ({"clusters": None}, "overview-field", "clusters", "valid"),
    "that does not say how it was made": ({"made": {}}, "overview-field", "made.method", "required"),
    "of no day": ({"made": {"method": "x", "date": "today"}}, "overview-field", "made.date", r": 'today' is no day"),
    "of a 13th month": ({"made": {"method": "x", "date": "2026-13-01"}}, "overview-field", "made.date", "no day"),
    "of bare digits": ({"made": {"method": "x", "date": "20261129"}}, "overview-field", "made.date", "no day"),
    "with a weight above 1": (
        {"quality": {"features": [{"name": "a", "weight": 1e308}]}},
        "overview-field", "quality.features[0].weight", "less than or equal to 1",
    ),
    "with a weight below 0": (
        {"quality": {"features": [{"name": "a", "weight": -1e308}]}},
        "overview-field", "quality.features[0].weight", "greater than or equal to 0",
    ),
    "with cut-offs that descend": (
        {"quality": {"cut_offs": [0.1, 0.5, 0.4]}}, "overview-field", "quality.cut_offs", r": 0\.4 comes after 0\.5"
    ),
    "with a title that fills a page": (
        {"clusters": [{"id": "c0", "title": "x" * 301}]}, "overview-field", "clusters[0].title", "300"
    ),
    "with a term that fills a page": (
        {"clusters": [CLUSTER | {"terms": ["x" * 301]}]}, "overview-field", "clusters[0].terms[0]", "300"
    ),
    "with documents below 0": ({"made": {"method": "x", "documents": -1}}, "overview-field", "made.documents", "0"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_an_overview_is_refused(write, case):
    changed, code, key, words = WRONG[case]
    path = write("overview.json", json.dumps(fields() | changed))
    with pytest.raises(CatalogError) as refused:
        read_overview(path)
    assert (refused.value.code, refused.value.place.file, refused.value.place.path) == (code, str(path), key)
    assert re.search(words, str(refused.value)), str(refused.value)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "bad-json", 1),
        ('{"format": 1,\n]', "bad-json", 2),
        ('{"format": 1, "format": 1}', "bad-json", 1),
        ('{"format": 1, "clusters": NaN}', "bad-json", 1),
        ("[" * 100_000, "bad-json", 1),
        ("[]", "overview-format", None),
        (b'{"format"\xff', "not-text", 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(write, text, code, line):
    with pytest.raises(CatalogError) as refused:
        read_overview(write("overview.json", text))
    assert (refused.value.code, refused.value.place.line) == (code, line)


@pytest.mark.parametrize("text", [r'{"format": 1, "clusters": [{"id": "\ud800"}]}', r'{"\uDC00": 1, "format": 1}'])
def test_half_of_a_character_is_refused_with_the_file(write, text):
    path = write("overview.json", text)
    with pytest.raises(CatalogError, match=r"'\\ud[8c]00', half of a character") as refused:
        read_overview(path)
    place = refused.value.place
    assert (refused.value.code, place.file, place.path, place.line) == ("not-text", str(path), "", None)


def test_levels_may_end_at_the_same_score(write):
    quality = {"cut_offs": [0.5, 0.5, 0.6]}
    assert read_overview(write("overview.json", json.dumps(fields() | {"quality": quality}))).quality.cut_offs[1] == 0.5


def test_numbers_too_large_for_a_float_are_refused(write):
    quality = '{"cut_offs": [1e999]}'
    text = json.dumps(fields() | {"quality": None}).replace("null", quality)
    with pytest.raises(CatalogError, match="finite"):
        read_overview(write("overview.json", text))


def test_an_overview_that_is_not_there_is_an_error(tmp_path):
    for path, code in ((tmp_path / "none.json", "file-missing"), (tmp_path, "file-unreadable")):
        with pytest.raises(CatalogError) as refused:
            read_overview(path)
        assert refused.value.code == code


def test_an_overview_names_only_what_the_catalog_has(tmp_path):
    path = tmp_path / "overview.json"
    columns = ("domain", "tokens", "cluster", "quality")
    check_overview(FULL, path, domains={"c03q4", "c03q3"}, columns=columns)
    with pytest.raises(CatalogError, match=r"unknown domain 'c03q4' \(did you mean 'c03q3'") as refused:
        check_overview(FULL, path, domains={"c03q3"}, columns=columns)
    assert (refused.value.code, refused.value.place.path) == ("unknown-domain", "domains[0].domain")
    with pytest.raises(CatalogError, match="columns: the catalog has no column 'quality'") as refused:
        check_overview(FULL, path, domains={"c03q4"}, columns=columns[:3])
    assert (refused.value.code, refused.value.place.path) == ("missing-column", "columns")
