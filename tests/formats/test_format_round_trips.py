"""What is written in a format and read back gives the same integer weights and the same boundaries."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest
import yaml
from format_trips import Written, given_for, put, readable, trip, weighed, written
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.formats import FORMATS, Given, SourceFile, WeightUnit, export_mixture, import_mixture, read_file
from mixture.planning.plan import make_plan
from mixture.planning.spec import read_spec

READ = [name for name, form in FORMATS.items() if form.read is not None]
# What readers of YAML 1.1, of 1.2, shells and spreadsheets take for something else.
ODD_NAMES = (
    "no", "1e3", "08", "null", "12:30", "~", "a.b", "é", "c00q0", "#x", "@x", "-", "a:b", "y", "1_0", "'q'", '"', "{x}",
    "[0]", "0.5", "=1", "%x", "&a", "*a", "!t", "<<", "a\\b", "a,b", "--x", "日本", "true", "|", ">", "x" * 60,
)  # fmt: skip
names = st.lists(
    st.sampled_from(ODD_NAMES) | st.text("abcxyz019_-", min_size=1, max_size=6), min_size=1, max_size=8, unique=True
)


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[str, str]:
    """A spec and its table: up to four phases of one length and batch, weights of any size, domains of any size."""
    domains = draw(names)
    sizes = [draw(st.integers(10**5, 10**13)) for _ in domains]
    documents = [draw(st.integers(1, size)) for size in sizes]
    amounts = st.lists(
        st.just(0) | st.integers(1, 50) | st.integers(1, 10**13), min_size=len(domains), max_size=len(domains)
    ).filter(any)
    weights = [draw(amounts) for _ in range(draw(st.integers(1, 4)))]
    steps = [draw(st.integers(1, 9)) for _ in weights]
    cells = io.StringIO()
    columns = [f"p{i}" for i in range(len(weights))]
    table = csv.writer(cells)
    table.writerow(["domain", "tokens", "documents", *columns])
    table.writerows(
        [name, size, count, *own]
        for name, size, count, own in zip(domains, sizes, documents, zip(*weights, strict=True), strict=True)
    )
    lines = [
        "mixture: drawn",
        f"sequence_length: {draw(st.sampled_from((8, 16, 64)))}",
        f"batch: {draw(st.integers(1, 40))} sequences",
        f"budget: {sum(steps)} steps",
        "accept: [never-read]",
        "phases:",
    ]
    for i, count in enumerate(steps):
        lines.append(f"  - {{phase: ph{i}, steps: {count} steps, weights: {{table: cells.csv, column: p{i}}}}}")
    return "\n".join(lines) + "\n", cells.getvalue()


def holds_names(name: str, cells: str) -> bool:
    """Whether a format can say the names: Megatron parts its lists by spaces, and options begin with two dashes."""
    return name != "megatron" or "--" not in cells


@pytest.mark.parametrize("name", READ)
@settings(max_examples=examples(25))
@given(drawn=mixtures())
def test_weights_and_boundaries_survive_the_way_out_and_back(name, drawn):
    spec, cells = drawn
    if not holds_names(name, cells):
        return
    with tempfile.TemporaryDirectory() as folder:
        made = written(Path(folder) / "own", spec, cells)
        _, _, plan = trip(name, made, Path(folder))
        assert weighed(plan) == weighed(made.lock)
        assert plan.data.batches[0].sequences == made.lock.data.batches[0].sequences


@pytest.mark.parametrize("name", [name for name in READ if len(FORMATS[name].units) > 1])
@settings(max_examples=examples(12))
@given(drawn=mixtures())
def test_both_units_of_a_format_survive_the_way_out_and_back(name, drawn):
    with tempfile.TemporaryDirectory() as folder:
        made = written(Path(folder) / "own", drawn[0], drawn[1])
        exported, _, plan = trip(name, made, Path(folder), unit=FORMATS[name].units[1])
        assert exported.unit is FORMATS[name].units[1] is not FORMATS[name].unit
        assert weighed(plan)[0][3] == weighed(made.lock)[0][3]


@pytest.mark.parametrize("name", [name for name in READ if name != "megatron"])  # which is a list of words
@settings(max_examples=examples(12))
@given(drawn=mixtures())
def test_a_file_that_a_trainer_reads_and_saves_again_says_the_same(name, drawn):
    spec, cells = drawn
    with tempfile.TemporaryDirectory() as folder:
        made = written(Path(folder) / "own", spec, cells)
        exported = export_mixture(made.lock, FORMATS[name], catalog=made.catalog)
        saved = {file: saved_again(file, text) for file, text in exported.files.items()}
        paths = readable(exported, put(Path(folder) / "saved", saved))
        given_too = given_for(name, made, exported.unit)
        imported = import_mixture(FORMATS[name], [read_file(path) for path in paths], Path(folder) / "in", given_too)
        spec_file, *_ = put(Path(folder) / "in", imported.files)
        assert weighed(make_plan(read_spec(spec_file))) == weighed(made.lock)


def saved_again(file: str, text: str) -> str:
    """The same through 64-bit floats and a library of YAML 1.1, or of JSON."""
    if file.endswith(".json"):
        return json.dumps(json.loads(text))
    return yaml.safe_dump(yaml.safe_load(text), sort_keys=False, allow_unicode=True)


SPEC = """\
mixture: two lengths
tokenizer: org/tok
seed: 7
sequence_length: 16
batch: 4 sequences
budget: 30 steps
phases:
  - {phase: first, steps: 12 steps, weights: {a: 1B, b: 1B, c: 1B}}
  - {phase: second, steps: 10 steps, batch: 8 sequences, weights: {a: 1%, b: 99%}}
  - {phase: long, sequence_length: 64, weights: {a: 20%, c: 80%}}
"""
CELLS = "domain,tokens,documents\na,100000,700\nb,900000,30\nc,5000000,12345\n"


@pytest.fixture
def changing(tmp_path: Path) -> Written:
    """Three phases: another batch in the second, another length in the third."""
    return written(tmp_path / "own", SPEC, CELLS)


@pytest.mark.parametrize("name", ["levanter", "megatron", "mosaic"])
def test_lengths_and_batches_survive_where_files_can_say_them(name, changing, tmp_path):
    _, _, plan = trip(name, changing, tmp_path)
    assert weighed(plan) == weighed(changing.lock)
    assert [batch.sequences for batch in plan.data.batches] == [4, 8, 4]


def test_nanotron_keeps_lengths_and_says_that_it_has_one_batch(changing, tmp_path):
    exported, _, plan = trip("nanotron", changing, tmp_path)
    assert weighed(plan) == weighed(changing.lock)
    assert [phase.name for phase in plan.phases] == ["first", "second", "long"]
    assert "batches-not-kept" in {remark.code for remark in exported.remarks}


def test_seed_and_tokenizer_come_back_where_a_format_has_them(changing, tmp_path):
    _, _, plan = trip("nanotron", changing, tmp_path)
    assert (plan.spec.seed, plan.spec.tokenizer) == (7, "org/tok")


def test_counts_that_were_chosen_come_back_as_near_as_whole_sequences_can(changing, tmp_path):
    files = export_mixture(changing.lock, FORMATS["mosaic"], phase="first").files
    paths = [path for path in put(tmp_path / "out", files) if ".choose" in path.name]
    imported = import_mixture(
        FORMATS["mosaic"], [read_file(path) for path in paths], tmp_path / "in", Given(catalog=changing.catalog)
    )
    spec, *_ = put(tmp_path / "in", imported.files)
    phase = make_plan(read_spec(spec)).phases[0]
    assert sum(phase.sequences) == 48
    assert [round(share * 48) for share in phase.shares] == changing.lock.schedule().counts(12).tolist()


@pytest.mark.parametrize(
    ("durations", "steps"),
    [(("10ba", "25ba", "40ba"), [10, 15, 15]), (("10ba", "10ba"), [10, 10]), (("10ba", "96sp"), [10, 12]),
     (("1280tok", "1920tok"), [10, 5]), (("80sp", "96sp"), [10, 2])],
)  # fmt: skip
def test_a_later_max_duration_has_the_earlier_files_in_it(durations, steps, changing, tmp_path):
    text = "max_seq_len: 16\nglobal_train_batch_size: 8\nmax_duration: {}\ntrain_loader: {{dataset: {{streams: {}}}}}\n"
    streams = "{a: {proportion: 1}}"
    sources = [SourceFile(tmp_path / f"{i}.yaml", text.format(one, streams)) for i, one in enumerate(durations)]
    imported = import_mixture(FORMATS["mosaic"], sources, tmp_path / "in", Given(catalog=changing.catalog))
    spec, *_ = put(tmp_path / "in", imported.files)
    assert [phase.laid.steps for phase in make_plan(read_spec(spec)).phases] == steps
    goes_on = "counted-from-start" in {remark.code for remark in imported.remarks}
    assert goes_on == (durations not in (("10ba", "10ba"), ("10ba", "96sp")))


def test_repetitions_come_back_as_shares_by_the_sizes_of_domains(changing, tmp_path):
    unit = WeightUnit.SEQUENCES
    files = export_mixture(changing.lock, FORMATS["energon"], phase="long", unit=unit).files
    paths = [path for path in put(tmp_path / "out", files) if "epochized" in path.name]
    said = Given(catalog=changing.catalog, unit=unit)
    imported = import_mixture(FORMATS["energon"], [read_file(path) for path in paths], tmp_path / "in", said)
    spec, *_ = put(tmp_path / "in", imported.files)
    shares = dict(zip("abc", make_plan(read_spec(spec)).phases[0].shares, strict=True))
    drawn = changing.lock.schedule().counts(30) - changing.lock.schedule().counts(22)
    assert [int(n) for n in drawn] == [6, 0, 26]
    # Each with the half of a sequence that keeps Energon from being one short.
    assert [round(float(shares[name]) * 33, 1) for name in "abc"] == [6.5, 0.0, 26.5]
    assert "weights-converted" in {remark.code for remark in imported.remarks}
