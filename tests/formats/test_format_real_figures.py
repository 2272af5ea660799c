"""Mixtures that labs have published, in the shape of their files.

olmo3_midtraining_ratios.csv: the sources and ratios of OLMo3-32B-midtraining-modelnamefilter.yaml (allenai/OLMo-core).
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from format_trips import catalog_of, put, weighed

from mixture.formats import FORMATS, Given, Imported, SourceFile, export, import_mixture
from mixture.plan import Plan, make_plan, read_lock
from mixture.spec import load_spec

MIXTURES = Path(__file__).parents[2] / "mixtures"
RATIOS = Path(__file__).parent / "olmo3_midtraining_ratios.csv"


def brought_in(name: str, text: str, folder: Path, **given: object) -> tuple[Imported, Plan]:
    """What an import makes of a text, and the plan of it."""
    file = SourceFile(Path(f"file.{'json' if text.lstrip()[:1] in '[{' else 'yaml'}"), text)
    imported = import_mixture(FORMATS[name], [file], folder, Given(**given))  # type: ignore[arg-type]
    spec, *_ = put(folder, imported.files)
    return imported, make_plan(load_spec(spec))


def test_the_artefact_of_the_announced_marin_mixture_gives_the_lock_of_its_spec(tmp_path):
    announced = MIXTURES / "marin-announced-80-20"
    lock = read_lock(announced / "mixture.lock.json")
    with (announced / "cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    artefact = {
        "candidate": "quality_technical",
        "available_tokens": {row["domain"]: int(row["tokens"]) for row in rows},
        "candidate_store_uri": "s3://marin-us-east-02a/marin/datakit/store_4d2e363d",
        "phase0_weights": {row["domain"]: float(row["pretraining"]) for row in rows},
        "phase1_weights": {row["domain"]: float(row["midtraining"]) for row in rows},
        "phase_budgets": [15_000_000_000_000, 3_750_000_000_000],
        "source_run": "harrier-bo-20260817",
        "tokenizer": "marin-community/marin-tokenizer",
    }
    text = json.dumps(artefact, indent=2)
    imported, plan = brought_in("marin-json", text, tmp_path, sequence_length=4096, batch_sequences=11264)
    assert imported.mixture == "quality_technical"
    assert plan.tokenizer == "marin-community/marin-tokenizer"
    assert weighed(plan) == weighed(lock)
    left_out = next(remark.message for remark in imported.remarks if remark.code == "keys-left-out")
    assert "'candidate_store_uri', 'source_run'" in left_out


def test_the_marin_mixture_goes_out_with_the_weights_that_were_published():
    announced = MIXTURES / "marin-announced-80-20"
    lock = read_lock(announced / "mixture.lock.json")
    (text,) = export(lock, FORMATS["marin-json"]).files.values()
    value = json.loads(text)
    with (announced / "cells.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert value["available_tokens"][row["domain"]] == int(row["tokens"])
            assert value["phase0_weights"][row["domain"]] == pytest.approx(float(row["pretraining"]), abs=1e-15)


def test_the_ratios_of_the_olmo_midtraining_do_not_sum_to_one_and_that_is_said(tmp_path):
    with RATIOS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = "sources:\n" + "".join(
        f"  - source_name: {row['source_name']}\n    target_ratio: {row['target_ratio']}\n    paths:\n      - gs://x/*.npy\n"
        for row in rows
    )
    table = "domain,tokens\n" + "".join(f"{row['source_name']},10000000000\n" for row in rows)
    catalog = catalog_of(tmp_path / "table", table)
    imported, plan = brought_in(
        "olmo", text, tmp_path / "in", catalog=catalog, steps=(47684,), sequence_length=8192, batch_sequences=256
    )
    said = next(remark.message for remark in imported.remarks if remark.code == "weights-divided")
    assert "weights sum to 1.0000006125" in said
    assert plan.steps == 47684
    assert len(weighed(plan)[0][3]) == len(rows) == 61
    shares = dict(zip(plan.catalog.names, plan.phases[0].shares, strict=True))
    assert float(shares["swallowcode"]) == pytest.approx(0.1 / 1.0000006125627, rel=1e-9)


OLMIX = """\
name: mix-heavy-code
description: half of it code
training: {tokenizer: dolma2, seed: 42}
data:
  sources:
  - name: dclm
    topics:
    - {name: software_development, paths: ["s3://x/*.npy"]}
mix:
  dclm:
    weight: 0.8
    software_development: {weight: 0.625, repetition_factor: 1.0}
    science_math_and_technology: {weight: 0.25, repetition_factor: 1.0}
    education_and_jobs:
      weight: 0.125
      high: {weight: 0.4, repetition_factor: 2}
      low: {weight: 0.6}
  wikipedia: {weight: 0.1, repetition_factor: 2.0}
  arxiv: {weight: 0.1, repetition_factor: 1.5}
priors:
  token_counts:
    "dclm:software_development": 500_000_000_000
    "dclm:science_math_and_technology": 400000000000
    "dclm:education_and_jobs:high": 1000000000
    "dclm:education_and_jobs:low": 9000000000
    wikipedia: 3700000000
    arxiv: 21000000000
"""


def test_a_nested_mix_of_olmix_is_multiplied_out_with_its_priors_as_the_catalog(tmp_path):
    imported, plan = brought_in("olmix", OLMIX, tmp_path, steps=(10,))
    shares = dict(zip(plan.catalog.names, map(float, plan.phases[0].shares), strict=True))
    assert shares == pytest.approx(
        {
            "dclm:software_development": 0.5,
            "dclm:science_math_and_technology": 0.2,
            "dclm:education_and_jobs:high": 0.04,
            "dclm:education_and_jobs:low": 0.06,
            "wikipedia": 0.1,
            "arxiv": 0.1,
        },
        abs=1e-15,
    )
    assert plan.catalog.tokens == 934_700_000_000
    assert imported.mixture == "mix-heavy-code"


@pytest.mark.parametrize(
    "text",
    [
        '[{"domain": "dclm", "weight": 0.6}, {"domain": "arxiv", "weight": 0.4}]',
        '{"dclm": [0.6, 1.0], "arxiv": [0.4, 2.5]}',
        "mix: {dclm: 0.6, arxiv: 0.4}",
    ],
)
def test_what_olmix_proposes_and_generates_is_read_too(text, tmp_path):
    catalog = catalog_of(tmp_path / "table", "domain,tokens\ndclm,10000000\narxiv,1000000\n")
    _, plan = brought_in("olmix", text, tmp_path / "in", catalog=catalog, steps=(10,))
    assert weighed(plan)[0][3] == {"arxiv": 4 * 10**14, "dclm": 6 * 10**14}


LLM_FOUNDRY = """\
variables:
  global_seed: 17
  max_seq_len: 2048
max_seq_len: ${variables.max_seq_len}
model: {name: mpt_causal_lm}
train_loader:
  name: text
  dataset:
    streams:
      web: {remote: s3://b/web, local: /tmp/web, split: train, repeat: 0.5}
      code: {remote: s3://b/code, local: /tmp/code, split: train, repeat: 2}
    shuffle: true
    max_seq_len: ${variables.max_seq_len}
    shuffle_seed: ${variables.global_seed}
  num_workers: 8
max_duration: 4800ba
global_train_batch_size: 256
"""


def test_an_llm_foundry_config_with_repeats_is_weighed_by_the_sizes_of_its_streams(tmp_path):
    catalog = catalog_of(tmp_path / "table", "domain,tokens\nweb,8000000\ncode,1000000\n")
    imported, plan = brought_in("mosaic", LLM_FOUNDRY, tmp_path / "in", catalog=catalog)
    shares = dict(zip(plan.catalog.names, map(float, plan.phases[0].shares), strict=True))
    assert shares == pytest.approx({"web": 4 / 6, "code": 2 / 6}, abs=1e-15)
    assert (plan.steps, plan.phases[0].laid.batch_sequences) == (4800, 256)
    assert {"not-in-the-file", "weights-converted", "keys-left-out"} <= {remark.code for remark in imported.remarks}


def test_a_command_line_of_megatron_is_read_as_it_is_typed(tmp_path):
    command = (
        "torchrun --nproc-per-node 8 pretrain_gpt.py \\\n"
        "  --seq-length 4096 --global-batch-size=1024 \\\n"
        "  --train-samples 1024000 --bf16 --tokenizer-model org/tok --seed 1234 \\\n"
        "  --data-path 30 /d/web_text_document 70 /d/code_text_document\n"
    )
    catalog = catalog_of(tmp_path / "table", "domain,tokens\nweb,8000000\ncode,1000000\n")
    imported, plan = brought_in(
        "megatron", command, tmp_path / "in", catalog=catalog, path_template="/d/{domain}_text_document"
    )
    assert weighed(plan) == [(0, 1000, 4096, {"code": 7 * 10**14, "web": 3 * 10**14})]
    assert (plan.spec.seed, plan.tokenizer) == (1234, "org/tok")
    assert "--bf16" in next(remark.message for remark in imported.remarks if remark.code == "keys-left-out")


def test_a_whole_training_config_of_levanter_is_read_for_its_data(tmp_path):
    config = """\
data:
  tokenizer: gpt2
  cache_dir: gs://b/cache
  components:
    web: {source: {type: url, train_urls: ["gs://b/web.jsonl"]}, tags: [a]}
    code: {cache_dir: gs://b/code}
  train_weights: {web: 3, code: 1}
  shuffle: true
model: {type: llama, hidden_dim: 128}
trainer:
  train_batch_size: 32
  num_train_steps: 100
  mp: p=f32,c=bfloat16
optimizer: {learning_rate: 1e-3}
"""
    catalog = catalog_of(tmp_path / "table", "domain,tokens\nweb,80000000\ncode,10000000\n")
    imported, plan = brought_in("levanter", config, tmp_path / "in", catalog=catalog)
    assert weighed(plan) == [(0, 100, 4096, {"code": 25 * 10**13, "web": 75 * 10**13})]
    said = {remark.code: remark.message for remark in imported.remarks}
    assert "sum to 4" in said["weights-divided"]
    assert "'model'" in said["keys-left-out"]
    assert "sequence length is not said; 4,096 is set" in said["not-in-the-file"]
