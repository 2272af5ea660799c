"""What the catalog's page shows, without a browser: figures, order, search; and the same page as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from api_helpers import MIXTURES
from mixture_folder import write_mixture

from mixture.api.middleware.problems import Problem
from mixture.api.pages.catalog.facts import catalog_facts, is_over
from mixture.api.pages.catalog.order import Measure
from mixture.api.pages.catalog.page import CatalogAsked, CatalogView, catalog_view
from mixture.api.pages.catalog.panel import attribute_said, length_bars, quality_said
from mixture.api.pages.catalog.parts import cell_panel
from mixture.api.pages.figures import epochs
from mixture.api.pages.links import FileLinks
from mixture.api.pages.render import render
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.library import LoadedMixture
from mixture.api.registry.stores import Stores
from mixture.api.settings import ExampleTexts
from mixture.api.texts import typical as example_texts
from mixture.api.texts.examples import QualityReason
from mixture.api.texts.facts import LengthBin
from mixture.api.texts.typical import TypicalTexts
from mixture.data.store import open_store

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 10
batch: 10 sequences
budget: 100 steps
max_epochs: 4
accept: [over-epochs]
phases:
  - {phase: first, share: 50%, weights: proportional}
  - {phase: second, weights: {a9: 50%, b10: 50%}}
"""
CELLS = """\
domain,cluster,quality,tokens,documents
a9,a,9,1000,10
a10,a,10,3000,
b10,b,10,4000,20
c9,,9,2000,5
"""


def load(folder: Path) -> LoadedMixture:
    (found,) = BuiltinMixtures([folder], (), Stores(())).all().values()
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> LoadedMixture:
    folder = tmp_path_factory.mktemp("view") / "small"
    write_mixture(folder, SPEC, cells=CELLS)
    return load(folder)


def view(mixture: LoadedMixture, **asked: object) -> CatalogView:
    return catalog_view(catalog_facts(mixture), CatalogAsked(**asked))


def test_rows_and_columns_are_in_order_of_their_values_those_without_one_last(small):
    shown = view(small)
    assert shown.axes == ("cluster", "quality")
    assert [row.value for row in shown.rows] == ["a", "b", ""]
    assert [one.value for one in shown.columns] == ["9", "10"]
    assert [[cell and cell.key for cell in row.cells] for row in shown.rows] == [
        ["a9", "a10"],
        [None, "b10"],
        ["c9", None],
    ]


def test_shares_and_enrichment_follow_from_tokens(small):
    (a9, a10), *_ = [row.cells for row in view(small).rows]
    assert (a9.share, a9.share_of_row, a9.share_of_column) == (0.1, 0.25, 1 / 3)
    assert a9.enrichment == pytest.approx(0.1 / (0.4 * 0.3))
    assert a10.enrichment == pytest.approx(0.3 / (0.4 * 0.7))


def test_totals_sum_what_is_in_them_and_documents_only_where_all_say(small):
    shown = view(small)
    assert [row.total.tokens for row in shown.rows] == [4000, 4000, 2000]
    assert [one.total.tokens for one in shown.columns] == [3000, 7000]
    assert shown.whole.tokens == 10_000
    assert shown.rows[0].cells[1].documents is None
    assert (shown.whole.documents, shown.whole.mean_length) == (None, None)
    assert (shown.columns[0].total.documents, shown.columns[0].total.mean_length) == (15, 200)


def test_weights_and_epochs_are_those_of_the_phase_or_of_the_run(small):
    first, second, run = (view(small, phase=phase).rows[0].cells[0] for phase in ("first", "second", None))
    assert (first.weight, second.weight) == (0.1, 0.5)
    assert run.planned_tokens == first.planned_tokens + second.planned_tokens
    assert run.epochs == run.planned_tokens / 1000
    assert first.run_epochs == run.epochs
    assert run.cap == 4
    assert not run.over
    assert view(small, measure=Measure.EPOCHS).rows[0].cells[0].level == int(10 * (run.epochs / 4) ** 0.5)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-total", ["a", "b", ""]),
        ("total", ["", "a", "b"]),
        ("-column:10", ["b", "a", ""]),
        ("column:9", ["a", "", "b"]),  # b has no figure there
        ("-column:9", ["", "a", "b"]),
        ("-name", ["", "b", "a"]),
    ],
)
def test_rows_are_sorted_by_any_column_those_without_a_figure_last(small, sort, order):
    assert [row.value for row in view(small, sort=sort).rows] == order


def test_what_can_not_be_sorted_by_is_refused_with_what_can(small):
    with pytest.raises(Problem, match="totl") as refused:
        view(small, sort="-totl")
    assert refused.value.code == "unknown-sort"
    assert refused.value.hint == "did you mean 'total'?"


def test_a_column_that_is_not_there_is_refused_and_equal_ones_make_a_list(small):
    with pytest.raises(Problem, match="qality") as refused:
        view(small, columns="qality")
    assert refused.value.code == "unknown-column"
    listed = view(small, rows="quality", columns="quality")
    assert listed.axes is None
    assert [row.value for row in listed.rows] == ["a10", "a9", "b10", "c9"]


def test_counts_of_any_size_are_in_the_table(tmp_path):
    cells = "".join(f"{name},x,1,{2**62}\n" for name in ("a9", "b10", "c9"))
    write_mixture(tmp_path / "huge", SPEC, cells=f"domain,cluster,quality,tokens\n{cells}")
    table = view(load(tmp_path / "huge")).table()
    assert [int(count) for count in table["tokens"].to_pylist()] == [3 * 2**62]


def test_a_search_is_for_all_words_in_titles_and_domains():
    marin = load(MIXTURES / "marin-535b-a23b")
    assert [row.value for row in view(marin, q="FOOD recipes").rows] == ["c11"]
    assert [row.value for row in view(marin, q="c11q3").rows] == ["c11"]
    assert view(marin, q="food nowhere").rows == ()
    assert view(marin, q="food nowhere").row_count == 40


def test_a_search_knows_every_domain_of_a_row(tmp_path):
    rows = "".join(f"d{i:03},a,1,{1000 + i}\n" for i in range(120))
    write_mixture(
        tmp_path / "wide",
        SPEC.replace("{a9: 50%, b10: 50%}", "proportional"),
        cells=f"domain,cluster,quality,tokens\n{rows}",
    )
    wide = load(tmp_path / "wide")
    assert [row.value for row in view(wide, q="d119").rows] == ["a"]
    assert (
        "d119"
        in render("catalog.html", FileLinks("catalogs/wide/index.html"), view(wide))
        .partition('data-words="')[2]
        .partition('"')[0]
    )


def test_typical_texts_that_are_searched_stay_below_a_size(clustered, monkeypatch):
    store = open_store(clustered / "store")
    every = TypicalTexts().of(store, store.overview, ExampleTexts.SNIPPET, None)
    assert sum(one.size for one in every) < example_texts.MOST_BYTES
    most = sum(one.size for one in every[:5])
    monkeypatch.setattr(example_texts, "MOST_BYTES", most)
    kept = TypicalTexts()
    first, again = (kept.of(store, store.overview, ExampleTexts.SNIPPET, None) for _ in range(2))
    assert first == every[:5]
    assert first is again


def test_mixtures_are_over_each_other_where_names_and_sizes_are_the_same(small, tmp_path):
    def other(name: str, cells: str) -> LoadedMixture:
        write_mixture(tmp_path / name, SPEC, cells=cells)
        return load(tmp_path / name)

    assert is_over(other("more", CELLS.replace("a9,a,9,1000,10", "a9,a,8,1000,11")), small)
    assert not is_over(other("larger", CELLS.replace("a9,a,9,1000,10", "a9,a,9,1001,10")), small)


ROOT = "The colour follows the square root of the figure."
RUN_CAP = f"{ROOT} It is strongest at what may be read in the whole run, 4.00 epochs."
NO_CAP = f"{ROOT} There is no cap; it is strongest from 4.00 epochs on."
OWN_CAPS = f"{ROOT} It is strongest at what may be read of each cell in the whole run."


@pytest.mark.parametrize(
    ("cap", "own", "phase", "said"),
    [
        ("max_epochs: 4\n", "", None, f"Epochs by cluster and quality. {RUN_CAP}"),
        ("max_epochs: 4\n", "", "first", f"Epochs in the phase first by cluster and quality. {RUN_CAP}"),
        ("", "", None, f"Epochs by cluster and quality. {NO_CAP}"),
        ("max_epochs: 4\n", "8", None, f"Epochs by cluster and quality. {OWN_CAPS}"),
        ("", "8", None, f"Epochs by cluster and quality. {OWN_CAPS[:-1]}; at 4.00 epochs where there is no cap."),
    ],
)
def test_the_caption_says_what_the_colours_of_epochs_go_up_to(tmp_path, cap, own, phase, said):
    cells = "".join(
        f"{line},{'max_epochs' if at == 0 else own if at == 1 else ''}\n" for at, line in enumerate(CELLS.splitlines())
    )
    write_mixture(tmp_path / "capped", SPEC.replace("max_epochs: 4\n", cap), cells=cells)
    assert view(load(tmp_path / "capped"), measure=Measure.EPOCHS, phase=phase).caption == said


def test_cells_that_are_read_too_often_are_spoken_of_only_where_there_are_some(tmp_path):
    write_mixture(tmp_path / "over", SPEC.replace("max_epochs: 4\n", "max_epochs: 0.5\n"), cells=CELLS)
    assert "“!” is read more often" in view(load(tmp_path / "over"), measure=Measure.EPOCHS).caption


def test_where_all_epochs_are_far_below_the_cap_the_colour_goes_up_to_the_largest(tmp_path):
    write_mixture(tmp_path / "far", SPEC.replace("max_epochs: 4\n", "max_epochs: 100\n"), cells=CELLS)
    shown = view(load(tmp_path / "far"), measure=Measure.EPOCHS)
    cells = [cell for row in shown.rows for cell in row.cells if cell]
    most = max(cells, key=lambda cell: cell.epochs)
    assert most.level == 10
    assert [cell.level for cell in cells] == [int(10 * (cell.epochs / most.epochs) ** 0.5) for cell in cells]
    assert shown.caption.endswith(
        f"strongest at the largest figure, {epochs(most.epochs)} epochs: none is above a tenth of what may be read in "
        "the whole run."
    )


def test_nothing_found_is_said_with_what_was_searched_and_no_sums_stand_under_it(small):
    empty = catalog_view(catalog_facts(small), CatalogAsked(q="nowhere"), texts=())
    html = render("catalog.html", FileLinks("catalogs/small/index.html"), empty)
    said = "Nothing is found in titles, terms and names of domains, and the beginnings of typical examples."
    assert f'<p id="nothing">{said}' in html
    assert "<tfoot>" not in html
    assert empty.said_count == "0 of 3 rows."
    assert "typical" not in view(small, q="nowhere").searched


def test_the_number_of_rows_is_said_only_where_some_are_left_out(small):
    assert view(small).said_count == ""
    assert view(small, q="b10").said_count == "1 of 3 rows."


def test_a_column_of_titles_is_there_only_where_rows_have_some(small):
    def heads(shown: CatalogView) -> int:
        return render("catalog.html", FileLinks("catalogs/small/index.html"), shown).count('<th scope="col"')

    marin = load(MIXTURES / "marin-535b-a23b")
    assert heads(view(marin, rows="quality", columns="cluster")) == 42
    assert heads(view(marin)) == 8


def test_columns_that_are_phases_are_in_order_of_time():
    olmo = view(load(MIXTURES / "olmo-3-7b"))
    assert [one.value for one in olmo.columns] == ["pretraining", "midtraining", "long-context"]


def test_the_open_cell_is_marked_in_the_page_itself(small):
    facts, asked = catalog_facts(small), CatalogAsked()
    panel = cell_panel(facts, asked, "a10", ExampleTexts.NONE)
    html = render("catalog.html", FileLinks("catalogs/small/index.html"), catalog_view(facts, asked, panel=panel))
    assert html.count('data-cell="a10" aria-current="true"') == 1
    assert html.count('aria-current="true"') == 1


@pytest.mark.parametrize(
    ("text", "said", "exact"),
    [
        ("0.0041910807291666", "0.00419", "0.0041910807291666"),
        ("4.657781023742571e-06", "<0.0001", "4.657781023742571e-06"),
        ("3.14", "3.14", None),
        ("12", "12", None),
        ("c12", "c12", None),
    ],
)
def test_long_fractions_are_shown_with_three_digits(text, said, exact):
    one = attribute_said("main", text)
    assert (one.said, one.exact) == (said, exact)


def test_weights_of_a_mixture_are_not_repeated_above_its_phases(tmp_path):
    spec = SPEC.partition("phases:")[0] + "phases:\n  - {phase: main, weights: {table: cells.csv, column: main}}\n"
    shares = ("main", "60%", "10%", "20%", "10%")
    cells = "".join(f"{line},{share},w\n" for line, share in zip(CELLS.split(), shares, strict=True))
    write_mixture(tmp_path / "small", spec, cells=cells.replace(",w\n", ",site\n", 1))
    write_mixture(
        tmp_path / "other", spec.replace("phase: main", "phase: only"), cells=cells.replace(",w\n", ",site\n", 1)
    )

    def attributes(overlay: str) -> dict[str, str]:
        facts = catalog_facts(load(tmp_path / "small"), overlay=load(tmp_path / overlay))
        panel = cell_panel(facts, CatalogAsked(), "a9", ExampleTexts.NONE)
        return {attribute.name: attribute.said for attribute in panel.attributes}

    assert attributes("small") == {"site": "w"}
    assert attributes("other") == {"main": "60%", "site": "w"}, "whose phases are called otherwise"


def test_a_file_has_all_measures_of_the_map_and_no_lines_to_copy(small):
    shown = view(small)
    html = render("catalog.html", FileLinks("catalogs/small/index.html"), shown)
    assert "curl" not in html
    text = html.partition('id="every-measure">')[2].partition("</script>")[0]
    measures = json.loads(text)
    assert list(measures) == [measure.value for measure in Measure]
    for name, one in measures.items():
        again = view(small, measure=Measure(name))
        assert one["caption"] == again.caption
        for row, right in zip(one["rows"], again.rows, strict=True):
            for cell, own in zip(row, [*right.cells, right.total], strict=True):
                assert (cell is None) == (own is None)
                if own is not None:
                    assert cell[0] == again.figure(own)
                    assert cell[2:3] in ([], [getattr(own, "level", None)])


def test_bars_of_lengths_stand_on_one_line_and_are_as_high_as_their_documents():
    bins = [LengthBin(first=1 << i, last=(2 << i) - 1, documents=i) for i in range(9, 21)]
    bars = length_bars(bins)
    assert {round(bar.y + bar.height, 1) for bar in bars} == {76}
    assert (bars[-1].height, bars[1].height) == (64, 32)
    assert [bar.x - 1 for bar in bars] == [28 * i for i in range(12)]
    assert [bar.label for bar in bars if bar.label] == ["512", "2Ki", "8Ki", "32Ki", "128Ki", "512Ki"]


@pytest.mark.parametrize(
    ("at_least", "below", "said"),
    [
        (None, 0.4, "level 1: its score 0.5 is below 0.4"),
        (0.4, None, "level 1: its score 0.5 is at least 0.4"),
        (0.4, 0.6, "level 1: its score 0.5 is at least 0.4 and below 0.6"),
    ],
)
def test_why_a_document_is_in_its_level_is_said_in_words(at_least, below, said):
    assert quality_said(QualityReason(score=0.5, level=1, at_least=at_least, below=below, features=())) == said


def test_cells_of_several_domains_are_summed():
    olmo = load(MIXTURES / "olmo-3-7b")
    shown = view(olmo)
    held = [domain for row in shown.rows for cell in row.cells if cell for domain in cell.domains]
    assert sorted(held) == list(olmo.catalog.names)
    assert sum(row.total.tokens for row in shown.rows) == olmo.catalog.tokens
    assert shown.whole.weight == pytest.approx(1)
    many = next(cell for row in shown.rows for cell in row.cells if cell and len(cell.domains) > 1)
    assert many.key == f"{many.row}/{many.column}"


def test_the_table_has_a_row_a_cell_in_the_order_shown(small):
    table = view(small, sort="-column:10").table()
    assert table["cluster"].to_pylist() == ["b", "a", "a", ""]
    assert table["domains"].to_pylist() == ["b10", "a9", "a10", "c9"]
    assert table["documents"].to_pylist() == [20, 10, None, 5]


def test_a_long_list_is_shown_in_parts(tmp_path):
    rows = "".join(f"d{i:04},{1000 + i}\n" for i in range(1200))
    spec = SPEC[: SPEC.index("  - {phase: second")].replace("share: 50%, ", "").replace("100 steps", "1000 steps")
    write_mixture(tmp_path / "long", spec, cells=f"domain,tokens\n{rows}")
    long = load(tmp_path / "long")
    parts, first = [], 0
    while first is not None:
        part = view(long, first_row=first)
        parts += [row.value for row in part.rows]
        first = part.next_row
    assert parts == list(long.catalog.names)
    largest = view(long, sort="-tokens", first_row=500)
    assert [row.value for row in largest.rows[:2]] == ["d0699", "d0698"]
    assert (largest.row_count, largest.next_row) == (1200, 1000)


@pytest.mark.parametrize("name", ["marin-535b-a23b", "olmo-3-7b", "demo"])
def test_the_page_is_the_same_as_a_file_with_links_to_files(name):
    mixture = load(MIXTURES / name)
    html = render("catalog.html", FileLinks(f"catalogs/{name}/index.html"), view(mixture))
    assert f"Catalog of {name}" in html
    assert 'href="cells/' in html
    assert "?measure=" not in html
    assert 'href="/' not in html
    assert 'src="../../assets/catalog.js"' in html
