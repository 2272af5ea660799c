"""Mixtures that labs have published, in the shape of their files.

olmo3_midtraining_ratios.csv: the sources and ratios of OLMo3-32B-midtraining-modelnamefilter.yaml (allenai/OLMo-core).
smollm3_stages.csv: the folders and weights of stage3_9T_11T.yaml (huggingface/smollm, text/pretraining/smollm3).
"""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from format_trips import brought_in, catalog_of, weighed

from mixture.formats import FORMATS, SourceFile, export_mixture, import_mixture
from mixture.lock import read_lock

MIXTURES = Path(__file__).parents[2] / "mixtures"
RATIOS = Path(__file__).parent / "olmo3_midtraining_ratios.csv"
SMOLLM3 = Path(__file__).parent / "smollm3_stages.csv"


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
    (text,) = export_mixture(lock, FORMATS["marin-json"]).files.values()
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
training: {proxy_model_id: olmo3_14m, tokenizer: dolma2, chinchilla_multiple: 0.5, seed: 42, global_batch_size: 16}
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
    imported, plan = brought_in("olmix", OLMIX, tmp_path)
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
    assert (plan.spec.seed, plan.tokenizer) == (42, "dolma2")
    # 0.5 · 20 · 14M tokens in steps of 16 sequences of 8,192, the length of every run that Olmix launches
    assert weighed(plan)[0][1:3] == (round(140_000_000 / (16 * 8192)), 8192)
    assert [remark.message for remark in imported.remarks if remark.code == "not-in-the-file"] == [
        "the file does not say the sequence length; 8,192 is set: change it in the spec"
    ]


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
    assert weighed(plan)[0][1:3] == (4800, 2048)
    assert (plan.phases[0].laid.batch_sequences, plan.spec.seed) == (256, 17)
    assert {remark.code for remark in imported.remarks} == {"weights-converted", "keys-left-out"}


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
    assert "'model.type'" in said["keys-left-out"]
    assert "does not say the sequence length; 4,096 is set" in said["not-in-the-file"]


SMOLLM3_REST = """\
general:
  benchmark_csv_path: null
  run: loubna-48n-2105-decay
  seed: 6
model:
  model_config:
    max_position_embeddings: 4096
parallelism:
  context_parallel_size: 1
  dp: 192
  tp: 2
profiler: null
tokenizer:
  tokenizer_max_length: 4096
  tokenizer_name_or_path: meta-llama/Llama-3.2-1B
  tokenizer_revision: null
tokens:
  batch_accumulation_per_replica: 1
  limit_test_batches: 0
  micro_batch_size: 3
  sequence_length: 4096
  train_steps: 4720000
lighteval:
  parallelism:
    dp: 4
"""


def smollm3(num_stages: int) -> str:
    """The config of SmolLM3 with its first stages, as its three files have one, two and three of them."""
    with SMOLLM3.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = ["data_stages:"]
    for stage, first in list(dict.fromkeys((row["stage"], row["first_step"]) for row in rows))[:num_stages]:
        own = [row for row in rows if row["stage"] == stage]
        lines += ["- data:", "    dataset:", "      dataset_read_path: # on the disks of the nodes"]
        lines += [f"      - /scratch/smollm3-data/{row['dataset'].split('/')[-1]}" for row in own]
        lines += ["      dataset_folder:"]
        lines += [f"      - s3://smollm3/datasets/{row['dataset']}/" for row in own]
        lines += ["      dataset_weights:", *(f"      - {row['weight']} # of all" for row in own)]
        lines += ["      pad_samples_to_global_batch_size: false", "      return_positions: true"]
        lines += ["      token_size_in_bytes: 4", "      tokenizer_name: meta-llama/Llama-3.2-1B"]
        lines += ["      use_old_brrr_dataloader: false", "      vocab_size: 128256"]
        lines += ["    num_loading_workers: 0", "    seed: 6", f"  name: {stage}", f"  start_training_step: {first}"]
    return "\n".join(lines) + "\n" + SMOLLM3_REST


def test_smollm3_is_imported_from_its_config_alone(tmp_path):
    imported, plan = brought_in("nanotron", smollm3(3), tmp_path)
    assert [phase.name for phase in plan.phases] == ["stable", "stable stage 2", "decay stage"]
    assert [segment[:2] for segment in weighed(plan)] == [(0, 3450000), (3450000, 748000), (4198000, 522000)]
    assert plan.tokens == 4_720_000 * 2_359_296
    assert (plan.spec.seed, plan.tokenizer) == (6, "meta-llama/Llama-3.2-1B")
    decay = dict(zip(plan.catalog.names, plan.phases[2].shares, strict=True))
    assert float(decay["dclm/dclm"]) == pytest.approx(0.3 / 1.00565, rel=1e-12)
    assert {remark.code for remark in imported.remarks} == {"keys-left-out", "weights-divided", "sizes-not-in-the-file"}
    assert [one.split("sum to ")[1] for one in map(str, imported.remarks) if "sum to" in one] == [
        "1.00005 and are divided by that", "1.00565 and are divided by that"
    ]  # fmt: skip
    # Sizes that nobody published are those that the run reads.
    assert {finding.code.value for finding in plan.findings if finding.level.value == "error"} == set()
    sizes = catalog_of(tmp_path / "table", imported.files["catalog.csv"])
    _, again = brought_in("nanotron", smollm3(3), tmp_path / "again", catalog=sizes)
    assert weighed(again) == weighed(plan)


def test_files_that_each_add_a_stage_are_the_last_of_them(tmp_path):
    files = [SourceFile(tmp_path / f"stage{n}.yaml", smollm3(n)) for n in (1, 2, 3)]
    together = import_mixture(FORMATS["nanotron"], files, tmp_path)
    alone = import_mixture(FORMATS["nanotron"], files[2:], tmp_path)
    assert together.files["weights.csv"] == alone.files["weights.csv"]
    assert "budget: 4720000 steps" in together.files["mixture.yaml"]


# The weights of k2v2_mid_train_stage1.sh (LLM360/k2v2_train), which has them in one line, as `path:weight`.
K2V2 = {
    "megamath/code": "0.3717964534",
    "megamath/web-pro": "0.2040901021",
    "megamath/web": "3.4280315197",
    "wiki+/stackexchange": "1.0744576405",
    "wiki+/hackernews": "0.0517331457",
    "wiki+/wikipedia_extended": "5.8555098927",
    "institutional-books-1.0": "10.0055314671",
    "long_context/ubuntu_irc": "0.0364406004",
    "long_context/cosmopedia_ultraTextbooks": "0.8129494317",
    "long_context/pg19": "0.0451954404",
    "papers/arxiv": "0.4007897548",
    "papers/s2orc": "1.8589822669",
    "papers/phil_papers": "0.0142692523",
    "papers/pubmed": "0.8356892759",
    "reasoning": "0.8015795096",
    "common_pile_v0.1": "1.3985004210",
    "reasoning_v1": "0.8015795096",
    "math": "23.9905356768",
    "ai": "0.8015795096",
    "general": "0.4002212587",
    "arabic": "2.0011062934",
    "planning": "0.8015795096",
    "TxT360-QA/cc_others": "0.6651404441",
    "TxT360-QA/cc_6-10": "0.4820846980",
    "TxT360-QA/cc_1-1": "1.5406244475",
    "TxT360-QA/cc_2-5": "1.3132260051",
    "open_coder/topo_sorted": "0.4906121396",
    "open_coder/original": "5.9692091139",
    "open_coder/fim": "5.5200971901",
    "weborganizer-sample-2-17": "28.0268580300",
}
K2V2_SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=400
export NCCL_P2P_NET_CHUNKSIZE=$((512 * 1024))
export LD_LIBRARY_PATH=/usr/local/plugins/lib:$LD_LIBRARY_PATH \\
       UCX_TLS=dc \\
       NCCL_IB_TIMEOUT=22
GPUS_PER_NODE=8
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node=${nodes_array[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)
echo Node IP: $head_node_ip
SAVE_ROOT="${YOUR_CKPT_PATH}/k2v2_stage1"
mkdir -p ${SAVE_ROOT}

RAW_DATA="@ROWS@"

TRAIN_DATA=""
IFS=',' read -ra ADDR <<< "$RAW_DATA"
for i in "${ADDR[@]}"; do
    path="${i%:*}"
    weight="${i##*:}"
    TRAIN_DATA+="$weight $path "
done

TOKENIZER_MODEL="${YOUR_TOKENIZER_PATH}/jais250k"
VALID_DATA_PATH="${YOUR_DATA_PATH}/SlimPajama-627B/validation/Slimpajama.jsonl"

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --rdzv_endpoint $head_node_ip:29500
)
# K2V2 Architecture Configuration
MODEL_ARGS=(
    --seq-length 8192
    --max-position-embeddings 8192
)
DATA_ARGS=(
    --tokenizer-type HuggingFaceTokenizer
    --tokenizer-model ${TOKENIZER_MODEL}
    --train-data-path ${TRAIN_DATA}
    --valid-data-path ${VALID_DATA_PATH}
    --split 99,1,0
)
TRAINING_ARGS=(
    --micro-batch-size 4
    --global-batch-size 1600   # 400 nodes * 4 MBS / 1 CP = 1600
    --seed 2
    --train-iters 135000
    --recompute-granularity 'full'
)
srun --container-mounts="/lustrefs:/lustrefs" \\
    torchrun ${DISTRIBUTED_ARGS[@]} /workspace/megatron-lm/pretrain_gpt.py \\
    ${MODEL_ARGS[@]} \\
    ${DATA_ARGS[@]} \\
    ${TRAINING_ARGS[@]}
"""


def test_k2_is_imported_from_its_script_alone(tmp_path):
    rows = ",".join(f"${{YOUR_DATA_PATH}}/{path}:{weight}" for path, weight in K2V2.items())
    imported, plan = brought_in("megatron", K2V2_SCRIPT.replace("@ROWS@", rows), tmp_path)
    assert weighed(plan)[0][:3] == (0, 135_000, 8192)
    assert plan.tokens == 135_000 * 1600 * 8192
    assert plan.spec.seed == 2
    total = sum(map(Fraction, K2V2.values()))
    shares = dict(zip(plan.catalog.names, plan.phases[0].shares, strict=True))
    assert shares.keys() == K2V2.keys()
    assert all(abs(shares[path] - Fraction(weight) / total) < Fraction(1, 10**14) for path, weight in K2V2.items())
    assert {remark.code for remark in imported.remarks} == {"keys-left-out", "weights-divided", "sizes-not-in-the-file"}


# pretrain_65b.sh (LLM360/k2-train): one dataset that was mixed before.
K2_65B = """\
#!/bin/bash


bcprun -p 8 --env 'CUDA_DEVICE_MAX_CONNECTIONS=1' -c 'python /mount/training/k2_training/main.py \\
--swiglu \\
--seq-length 2048 \\
--vocab-size 32032 \\
--micro-batch-size 4 \\
--global-batch-size 2040 \\
--data-base-path /mount/data/shuffled_data_chunks \\
--n-chunks 360 \\
--train-iters 338760 \\
--seed 22238
'
"""


def test_k2_65b_has_one_dataset_and_a_budget_of_1415_billion_tokens(tmp_path):
    _, plan = brought_in("megatron", K2_65B, tmp_path)
    assert weighed(plan) == [(0, 338_760, 2048, {"shuffled_data_chunks": 10**15})]
    assert plan.tokens == 338_760 * 2040 * 2048
    assert plan.spec.seed == 22238
