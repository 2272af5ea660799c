"""What trainers find in the files: their own keys, the right unit, and what is lost, said at the top."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from math import floor
from pathlib import Path
from typing import Any

import pytest
import yaml
from format_trips import Written, catalog_of, written

from mixture.errors import FormatError
from mixture.formats import FORMATS, Exported, WeightUnit, export_mixture
from mixture.lock import Mask, read_lock
from mixture.planning.amend import amend
from mixture.planning.plan import make_lock, make_plan, plan_json
from mixture.planning.spec import read_spec

SPEC = """\
mixture: small
tokenizer: org/tok
seed: 7
sequence_length: 16
batch: 4 sequences
budget: 1000 steps
phases:
  - {phase: early, steps: 800 steps, weights: {web: 60%, code: 40%, books: 0}}
  - {phase: late, weights: {web: 20%, code: 30%, books: 50%}}
"""
# Documents of web are 100 tokens long on average, those of code 400, those of books 1,000.
CELLS = "domain,tokens,documents,kind\nweb,400000,4000,prose\ncode,40000,100,code\nbooks,10000,10,prose\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(tmp_path_factory.mktemp("own"), SPEC, CELLS)


def files_of(made: Written, name: str, **options: Any) -> dict[str, Any]:
    """The files of an export, parsed as most trainers do: YAML by version 1.1, JSON."""
    exported = export_mixture(made.lock, FORMATS[name], catalog=made.catalog, **options)
    return {file: parsed(file, text) for file, text in exported.files.items()}


def parsed(file: str, text: str) -> Any:
    if file.endswith(".json"):
        return json.loads(text)
    return yaml.safe_load(text) if file.endswith(".yaml") else text


def codes(exported: Exported) -> set[str]:
    return {remark.code for remark in exported.remarks}


def test_levanter_has_a_list_of_weights_by_step_and_the_length_of_the_run(small):
    (config,) = files_of(small, "levanter", path_template="s3://bucket/{kind}/{domain}").values()
    data = config["data"]
    assert data["tokenizer"] == "org/tok"
    assert data["components"]["code"] == {"cache_dir": "s3://bucket/code/code"}
    assert data["train_weights"] == [
        [0, {"books": 0.0, "code": 0.4, "web": 0.6}],
        [800, {"books": 0.5, "code": 0.3, "web": 0.2}],
    ]
    assert config["trainer"] == {"train_batch_size": 4, "num_train_steps": 1000}
    assert config["train_seq_len"] == 16
    assert 800 * 4 % data["mixture_block_size"] == 0
    assert data["mixture_block_size"] == 3200


def test_levanter_gives_batches_that_change_as_a_schedule(tmp_path):
    spec = SPEC.replace("phase: late", "phase: late, batch: 8 sequences")
    (config,) = files_of(written(tmp_path, spec, CELLS), "levanter").values()
    assert config["trainer"]["train_batch_size"] == [{"start": 0, "value": 4}, {"start": 800, "value": 8}]


def test_levanter_names_the_domains_of_which_a_block_would_have_no_sequence(tmp_path):
    spec = SPEC.replace("web: 60%, code: 40%, books: 0", "web: 60%, code: 39.99%, books: 0.01%")
    made = written(tmp_path, spec, CELLS)
    lost = [
        remark for remark in export_mixture(made.lock, FORMATS["levanter"]).remarks if remark.code == "domains-vanish"
    ]
    assert len(lost) == 1
    assert "in phase early, 'books' would have less than one sequence in a block of 3,200" in lost[0].message


def test_the_block_of_the_marin_run_fits_its_boundaries_and_is_as_fine_as_the_one_it_was_trained_with():
    lock = read_lock(Path(__file__).parents[2] / "mixtures" / "marin-535b-a23b" / "mixture.lock.json")
    exported = export_mixture(lock, FORMATS["levanter"])
    (config,) = (yaml.safe_load(text) for text in exported.files.values())
    block = config["data"]["mixture_block_size"]
    assert 49152 <= block < 2**16
    assert not 108000 * 11264 % block
    assert not 312192 * 11264 % block
    assert [first for first, _ in config["data"]["train_weights"]] == [0, 108000, 312192]
    vanished = [remark.message for remark in exported.remarks if remark.code == "domains-vanish"]
    assert any("phase initial" in message and "'c02q0'" in message for message in vanished)


def test_olmo_ratios_sum_to_exactly_one_and_leave_out_what_is_never_drawn(small):
    files = files_of(small, "olmo")
    assert list(files) == ["small.olmo.1-early.yaml", "small.olmo.2-late.yaml"]
    early, late = files.values()
    assert [source["source_name"] for source in early["sources"]] == ["code", "web"]
    assert late["sources"][0] == {"source_name": "books", "target_ratio": 0.5, "paths": ["books"]}


@pytest.mark.parametrize("name", ["olmo", "olmix"])
def test_ratios_of_any_weights_sum_to_exactly_one_as_they_are_written(name, tmp_path):
    thirds = SPEC.replace("web: 60%, code: 40%, books: 0", "web: 1B, code: 1B, books: 1B")
    made = written(tmp_path, thirds, CELLS)
    for text in export_mixture(made.lock, FORMATS[name]).files.values():
        key = "target_ratio:" if name == "olmo" else "weight:"
        ratios = [Decimal(line.split(key)[1].split(",")[0].strip()) for line in text.splitlines() if key in line]
        assert len(ratios) == 3
        assert sum(ratios) == 1


def test_olmo_may_repeat_a_source_as_often_as_the_phase_needs(tmp_path):
    made = written(tmp_path, SPEC.replace("budget: 1000 steps", "budget: 4000 steps"), CELLS)
    late = files_of(made, "olmo")["small.olmo.2-late.yaml"]["sources"]
    tokens = 3200 * 4 * 16
    repeated = {source["source_name"]: source.get("max_repetition_ratio", 1) for source in late}
    assert repeated == {"books": 10.24, "code": 1.54, "web": 1}
    assert all(
        repeated[name] * size >= tokens * share
        for name, size, share in (("books", 10000, 0.5), ("code", 40000, 0.3), ("web", 400000, 0.2))
    )


def test_olmix_has_weights_with_repetitions_and_the_sizes_of_all_domains(small):
    late = files_of(small, "olmix")["small.olmix.2-late.yaml"]
    assert late["mix"]["code"] == {"weight": 0.3, "repetition_factor": 1.0}
    assert late["priors"]["token_counts"] == {"books": 10000, "code": 40000, "web": 400000}
    assert late["priors"]["relative_sizes"] == {"books": 1 / 45, "code": 4 / 45, "web": 40 / 45}
    assert [source["name"] for source in late["data"]["sources"]] == ["books", "code", "web"]


def test_megatron_has_a_blend_for_each_phase_and_arguments_for_each_start(small):
    files = files_of(small, "megatron", path_template="/data/{domain}_text_document")
    args, early, split, late, _ = files.values()
    lines = [line.split() for line in args.splitlines() if not line.startswith("#")]
    assert [dict(zip(line[::2], line[1::2], strict=True)) for line in lines] == [
        {
            "--data-args-path": f"small.megatron.{part}.txt",
            "--seq-length": "16",
            "--global-batch-size": "4",
            "--train-samples": "4000",
            "--phase-transition-iterations": "800",
        }
        for part in ("1-early", "2-late")
    ]
    assert early.split() == ["0.4", "/data/code_text_document", "0.6", "/data/web_text_document"]
    assert split == {"train": early.split(), "valid": None, "test": None}
    assert late.split()[:2] == ["0.5", "/data/books_text_document"]


def test_megatron_counts_iterations_where_there_is_no_transition(small):
    args = files_of(small, "megatron", phase="late")["small.megatron.args.txt"].splitlines()[-1].split()
    assert args[-2:] == ["--train-iters", "200"]
    assert "--train-samples" not in args


def test_nanotron_has_a_config_for_each_stage_with_those_before_it_and_begins_at_step_one(small):
    files = files_of(small, "nanotron")
    assert list(files) == ["small.nanotron.1-early.yaml", "small.nanotron.2-late.yaml"]
    first, config = files.values()
    assert first["data_stages"] == config["data_stages"][:1]
    assert first["tokens"]["train_steps"] == 800
    assert [stage["start_training_step"] for stage in config["data_stages"]] == [1, 801]
    dataset = config["data_stages"][1]["data"]["dataset"]
    assert dataset["dataset_folder"] == ["books", "code", "web"]
    assert dataset["dataset_weights"] == [0.5, 0.3, 0.2]
    assert config["tokens"]["train_steps"] == 1000
    assert config["tokens"]["micro_batch_size"] * config["tokens"]["batch_accumulation_per_replica"] == 4


def test_mosaic_chooses_what_the_lock_draws(small):
    files = files_of(small, "mosaic", path_template="s3://bucket/{domain}")
    early, chosen = files["small.mosaic.1-early.yaml"], files["small.mosaic.1-early.choose.yaml"]
    streams = early["train_loader"]["dataset"]["streams"]
    assert streams == {
        "code": {"remote": "s3://bucket/code", "proportion": 0.4},
        "web": {"remote": "s3://bucket/web", "proportion": 0.6},
    }
    assert early["train_loader"]["dataset"]["epoch_size"] == 3200
    assert (early["max_duration"], early["global_train_batch_size"]) == ("800ba", 4)
    assert files["small.mosaic.2-late.yaml"]["max_duration"] == "1000ba"
    assert files["small.mosaic.2-late.yaml"]["train_loader"]["dataset"]["epoch_size"] == 800
    assert "epoch_size" not in chosen["train_loader"]["dataset"]
    choose = {name: stream["choose"] for name, stream in chosen["train_loader"]["dataset"]["streams"].items()}
    drawn = dict(zip(("books", "code", "web"), small.lock.schedule().counts(800).tolist(), strict=True))
    assert choose == {name: drawn[name] for name in ("code", "web")}
    assert sum(choose.values()) == 3200


def test_energon_counts_documents_and_how_often_each_dataset_is_read(small):
    files = files_of(small, "energon")
    late = files["small.energon.2-late.yaml"]
    assert (late["__module__"], late["__class__"]) == ("megatron.energon", "MetadatasetV2")
    weights = {row["path"]: row["weight"] for row in late["splits"]["train"]["blend"]}
    # 50 / 1000 : 30 / 400 : 20 / 100 are documents for a hundred tokens each
    assert weights == pytest.approx({"books": 0.05 / 0.325, "code": 0.075 / 0.325, "web": 0.2 / 0.325}, rel=1e-15)
    repeated = files["small.energon.2-late.epochized.yaml"]["splits"]["train"]["blend_epochized"]
    drawn = small.lock.schedule().counts(1000) - small.lock.schedule().counts(800)
    lengths = dict(zip(("books", "code", "web"), (1000, 400, 100), strict=True))
    documents = {name: round(int(n) * 16 / lengths[name]) for name, n in zip(lengths, drawn, strict=True)}
    sizes = {"books": 10, "code": 100, "web": 4000}
    assert {row["path"]: floor(row["repetitions"] * sizes[row["path"]]) for row in repeated} == documents


def test_repetitions_of_rows_give_the_counts_of_the_lock(small):
    late = files_of(small, "energon", unit=WeightUnit.SEQUENCES)["small.energon.2-late.epochized.yaml"]
    drawn = small.lock.schedule().counts(1000) - small.lock.schedule().counts(800)
    sizes = {"books": 10000 // 16, "code": 40000 // 16, "web": 400000 // 16}
    counts = {row["path"]: repeated(row["repetitions"], sizes[row["path"]])
              for row in late["splits"]["train"]["blend_epochized"]}  # fmt: skip
    assert counts == dict(zip(sizes, drawn.tolist(), strict=True))


def repeated(repetitions: float, samples: int) -> int:
    """Samples that Energon's RepeatDataset gives: whole passes, and of the last the fraction, cut down."""
    return floor(repetitions) * samples + floor((repetitions - floor(repetitions)) * samples)


def test_domains_of_which_nothing_is_repeated_are_named(tmp_path):
    spec = SPEC.replace("web: 60%, code: 40%, books: 0", "web: 60%, code: 39.9999%, books: 0.0001%")
    made = written(tmp_path, f"accept: [never-read]\n{spec}", CELLS)
    exported = export_mixture(made.lock, FORMATS["energon"], catalog=made.catalog)
    (said,) = [remark.message for remark in exported.remarks if remark.code == "domains-left-out"]
    assert "phase early 'books'" in said
    assert "books" not in exported.files["small.energon.1-early.epochized.yaml"].split("splits")[1]


def test_maxtext_has_a_path_and_a_weight_by_name(small):
    early = files_of(small, "maxtext", unit=WeightUnit.SEQUENCES, path_template="gs://b/{domain}*.array_record")
    assert early["small.maxtext.1-early.json"] == {
        "code": {"path": "gs://b/code*.array_record", "weight": 0.4},
        "web": {"path": "gs://b/web*.array_record", "weight": 0.6},
    }


def test_marin_has_the_tokens_of_cells_and_budgets_of_phases(small):
    (value,) = files_of(small, "marin-json").values()
    assert value["available_tokens"] == {"books": 10000, "code": 40000, "web": 400000}
    assert value["phase0_weights"] == {"books": 0.0, "code": 0.4, "web": 0.6}
    assert value["phase_budgets"] == [800 * 64, 200 * 64]


def test_the_table_has_the_figures_of_the_plan(small, tmp_path):
    (tmp_path / "cells.csv").write_text(CELLS, encoding="utf-8")
    (tmp_path / "mixture.yaml").write_text(f"catalog: cells.csv\n{SPEC}", encoding="utf-8")
    plan = plan_json(make_plan(read_spec(tmp_path / "mixture.yaml")))
    (text,) = export_mixture(small.lock, FORMATS["csv"]).files.values()
    rows = list(csv.DictReader(io.StringIO(text)))
    phases: Any = plan["phases"]
    planned = [
        (phase["phase"], domain["domain"], str(domain["sequences"]), str(domain["tokens"]))
        for phase in phases
        for domain in phase["domains"]
    ]
    assert [(row["phase"], row["domain"], row["sequences"], row["tokens"]) for row in rows] == planned


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_says_its_unit_its_mixture_and_what_it_can_not_say(name, small):
    exported = export_mixture(small.lock, FORMATS[name], catalog=small.catalog)
    assert {"unit", "draws", "order-not-kept", "caps-not-kept"} <= codes(exported)
    said = next(remark.message for remark in exported.remarks if remark.code == "unit")
    assert f"weights count {FORMATS[name].unit}" in said
    for file, text in exported.files.items():
        if not file.endswith((".json", ".csv")) and not (name == "megatron" and "args" not in file):
            head = [line for line in text.splitlines() if line.startswith("#")]
            assert head[0] == f"# small, lock {small.lock.digest}"
            assert f"# unit: {said}" in head


def read_again(exported: Exported) -> list[str]:
    return [remark.message for remark in exported.remarks if remark.code == "read-again"]


def test_formats_that_make_a_dataset_a_phase_say_how_much_text_is_read_again(tmp_path):
    # Early reads 800 · 64 tokens: 10,240 of code, 40,960 of web. Late reads 12,800: 6,400 of books, 3,840, 2,560.
    spec = SPEC.replace("web: 60%, code: 40%", "web: 80%, code: 20%")
    made = written(tmp_path, spec, CELLS)
    drawn = made.lock.schedule().counts(1000) - made.lock.schedule().counts(800)
    code, web = (16 * int(drawn[d]) for d in (1, 2))
    for name, form in FORMATS.items():
        said = read_again(export_mixture(made.lock, form, catalog=made.catalog))
        if name in ("levanter", "marin-json", "nanotron", "csv"):
            assert not said, name
        else:
            assert len(said) == 1, name
            assert f"up to {code + web:,} of 12,800 tokens in late (0 in the lock)" in said[0], name


def test_text_that_the_lock_reads_again_itself_is_counted_for_it_too(tmp_path):
    # Books has 10,000 tokens: early reads 20,480 of them, late 6,400 more, all of which were read before either way.
    spec = SPEC.replace("web: 60%, code: 40%, books: 0", "web: 60%, books: 40%").replace(
        "code: 30%, books: 50%", "books: 80%"
    )
    made = written(tmp_path, spec, CELLS)
    drawn = made.lock.schedule().counts(1000) - made.lock.schedule().counts(800)
    books, web = 16 * int(drawn[0]), 16 * int(drawn[2])
    (said,) = read_again(export_mixture(made.lock, FORMATS["olmo"]))
    assert f"up to {books + web:,} of 12,800 tokens in late ({books:,} in the lock)" in said


def test_one_phase_alone_says_what_it_reads_again_of_those_before_it(small):
    assert read_again(export_mixture(small.lock, FORMATS["levanter"], phase="late"))
    assert not read_again(export_mixture(small.lock, FORMATS["levanter"], phase="early"))
    assert not read_again(export_mixture(small.lock, FORMATS["olmo"], phase="early"))


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.version])
def test_every_export_says_which_version_of_the_trainer_it_is_for(name, small):
    said = [
        r.message
        for r in export_mixture(small.lock, FORMATS[name], catalog=small.catalog).remarks
        if r.code == "version"
    ]
    assert said == [f"written for {FORMATS[name].version}"]


def test_formats_without_phases_say_where_each_file_begins(small):
    said = [r.message for r in export_mixture(small.lock, FORMATS["olmo"]).remarks if r.code == "phases-in-files"]
    assert said
    assert "early at step 0, late at step 800" in said[0]


def test_one_phase_alone_is_one_file_whose_steps_count_from_zero(small):
    (config,) = files_of(small, "levanter", phase="late").values()
    assert [first for first, _ in config["data"]["train_weights"]] == [0]
    assert config["trainer"]["num_train_steps"] == 200


def test_names_that_yaml_readers_take_for_other_things_stay_names(tmp_path):
    cells = "domain,tokens\n" + "".join(f"{name},100000\n" for name in ("no", "1e3", "08", "null", "12:30"))
    spec = SPEC.split("phases:")[0] + "phases:\n  - {phase: one, weights: uniform}\n"
    (config,) = files_of(written(tmp_path, spec, cells), "levanter").values()
    assert set(config["data"]["components"]) == {"no", "1e3", "08", "null", "12:30"}


def test_documents_that_nobody_counted_are_refused_with_the_domain(small, tmp_path):
    with pytest.raises(FormatError) as caught:
        export_mixture(small.lock, FORMATS["hf"])
    assert caught.value.code == "missing-column"
    some = catalog_of(tmp_path, "domain,tokens,documents\nweb,400000,4000\ncode,40000,\nbooks,10000,10\n")
    with pytest.raises(FormatError, match="'code'") as caught:
        export_mixture(small.lock, FORMATS["hf"], catalog=some)
    assert caught.value.code == "missing-column"
    assert (
        export_mixture(small.lock, FORMATS["hf"], catalog=some, unit=WeightUnit.SEQUENCES).unit is WeightUnit.SEQUENCES
    )


def test_a_unit_that_a_trainer_does_not_draw_is_refused(small):
    with pytest.raises(FormatError, match="levanter does not draw documents") as caught:
        export_mixture(small.lock, FORMATS["levanter"], catalog=small.catalog, unit=WeightUnit.DOCUMENTS)
    assert caught.value.code == "unit-not-drawn"


@pytest.mark.parametrize(
    ("template", "code"),
    [
        ("s3://{kind}", "paths-alike"),
        ("s3://{knd}/{domain}", "unknown-column"),
        ("/with space/{domain}", "path-with-space"),
    ],
)
def test_templates_that_give_no_paths_are_refused(template, code, small):
    with pytest.raises(FormatError) as caught:
        export_mixture(small.lock, FORMATS["megatron"], catalog=small.catalog, path_template=template)
    assert caught.value.code == code


def test_a_template_with_columns_needs_the_table_of_the_domains(small):
    with pytest.raises(FormatError) as caught:
        export_mixture(small.lock, FORMATS["levanter"], path_template="{kind}/{domain}")
    assert caught.value.code == "no-catalog"


def test_a_phase_that_is_not_there_is_refused_with_the_nearest(small):
    with pytest.raises(FormatError, match="did you mean 'early'") as caught:
        export_mixture(small.lock, FORMATS["olmo"], phase="erly")
    assert caught.value.code == "unknown-phase"


def test_what_only_a_lock_has_is_said_to_be_lost(tmp_path):
    cells = "domain,tokens\nweb,900000\ncode,400000\n"
    written(tmp_path, SPEC.replace(", books: 0", "").replace("code: 30%, books: 50%", "code: 80%"), cells)
    spec = read_spec(tmp_path / "mixture.yaml")
    lock = make_lock(make_plan(spec, pools={"web": 131072}))
    later = amend(lock, 500, skip_steps=10, masks=(Mask(600, "code", 0, 100),))
    said = {remark.code: remark.message for remark in export_mixture(later, FORMATS["levanter"]).remarks}
    assert said["pools-not-kept"] == "the lock reads only a part of 1 domain: 'web'"
    assert said["skips-not-kept"] == "the lock skips 40 sequences, which the trainer would read"
    assert said["masks-not-kept"] == "the lock masks 1 range of text, which the trainer would read"


def test_what_nanotron_reads_again_in_the_same_order_is_said_with_how_much(tmp_path):
    spec = """\
mixture: again
sequence_length: 16
batch: 8 sequences
budget: 100 steps
max_epochs: 8
phases:
  - {phase: early, until: 50%, weights: {small: 25%, large: 75%}}
  - {phase: late, weights: {small: 25%, large: 75%}}
"""
    made = written(tmp_path, spec, "domain,tokens\nsmall,1600\nlarge,160000\n")
    said = {remark.code: remark.message for remark in export_mixture(made.lock, FORMATS["nanotron"]).remarks}
    # 200 of 800 sequences, of 100 that there are; all of them in the first half of the run
    assert said["repeats-in-order"].endswith("for each epoch: 'small' 1,600 tokens (2 epochs)")
    once = {remark.code for remark in export_mixture(made.lock, FORMATS["nanotron"], phase="early").remarks}
    assert "repeats-in-order" not in once
    assert "repeats-in-order" not in {remark.code for remark in export_mixture(made.lock, FORMATS["olmo"]).remarks}
