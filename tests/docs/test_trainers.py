"""The recipes of docs/loaders.md in two processes, with the trainers' own code: each model reads its rank's rows."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from docs.folder import run_block, write_text
from docs.pages import blocks
from docs.test_loaders import BEGUN, PAGE, RECIPE

from mixture import open_stream

pytestmark = pytest.mark.needs_trainers

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
RECORDED = """
import json, os, torch
seen = []
def record(module, inputs):
    if isinstance(module, torch.nn.Embedding):
        seen.append(inputs[0].tolist())
torch.nn.modules.module.register_module_forward_pre_hook(record)
"""
"""Ahead of a recipe: what its model is given."""
WRITTEN = """
import pathlib
pathlib.Path("seen-" + os.environ["RANK"] + ".json").write_text(json.dumps(seen))
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of text, a lock over it, and the recipes."""
    write_text(tmp_path)
    for block in blocks("how-to.md"):
        if block.heading == BEGUN and block.language != "python":
            run_block(block, tmp_path)
    for block in blocks(PAGE):
        if recipe := RECIPE.match(block.text):
            (tmp_path / recipe[1]).write_text(block.text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str) -> str:
    """A program's output; it may not fail."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-1000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def in_two_processes(folder: Path, recipe: str, *arguments: str) -> list[list[list[list[int]]]]:
    """The batches that each process's model was given."""
    program = RECORDED + (folder / recipe).read_text(encoding="utf-8") + WRITTEN
    (folder / f"recorded_{recipe}").write_text(program, encoding="utf-8")
    run(folder, *TORCHRUN, f"recorded_{recipe}", *arguments)
    return [json.loads((folder / f"seen-{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


def expected(folder: Path, first_step: int, last_step: int) -> list[list[list[list[int]]]]:
    """The batches of each of two ranks, of some steps."""
    ranks = []
    for rank in range(2):
        stream = open_stream(folder / "mixture.lock.json", folder / "store", rank, 2, first_step=first_step)
        ranks.append([batch.input_ids.tolist() for batch, _ in zip(stream, range(first_step, last_step), strict=False)])
    return ranks


def test_the_trainer_of_transformers_trains_on_the_runs_steps_and_resumes(folder: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    assert in_two_processes(folder, "trainer.py", "6") == expected(folder, 0, 6)
    assert in_two_processes(folder, "trainer.py", "9", "resume") == expected(folder, 6, 9)


def test_a_model_of_transformers_takes_the_losses_of_labels_that_are_not_shifted(folder: Path) -> None:
    pytest.importorskip("transformers")
    asked = """
import torch
from functools import partial
from transformers import LlamaConfig, LlamaForCausalLM
from mixture import open_stream
from mixture.adapters.columns import Columns
from mixture.adapters.torch import MixtureBatches
model = LlamaForCausalLM(LlamaConfig(vocab_size=257, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                     num_attention_heads=2))
opener, names = partial(open_stream, "mixture.lock.json", "store"), ("input_ids", "labels")
shifted, plain = (
    next(iter(MixtureBatches(opener, columns=Columns(names, shifted=each, across_documents=False))))
    for each in (True, False)
)
with torch.no_grad():
    found = model(input_ids=plain["input_ids"], labels=plain["labels"])
logits, labels = found.logits[:, :-1].reshape(-1, 257), shifted["labels"][:, :-1].reshape(-1)
assert (labels == -100).any() and not (labels == -100).all()
torch.testing.assert_close(found.loss, torch.nn.functional.cross_entropy(logits, labels))
"""
    run(folder, sys.executable, "-c", asked)


def test_rows_without_rank_are_split_by_the_trainer_as_the_run_has_them(folder: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    assert in_two_processes(folder, "rows.py") == expected(folder, 0, 6)


def test_what_would_read_other_rows_is_refused_with_its_code(folder: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in ("rows.py", "trainer.py")}
    ranked = 'columns=Columns(("input_ids", "labels"), shifted=False)\n)'
    batches = "from mixture.adapters.torch import MixtureBatches as iterable_dataset\n"
    wrong = {
        "split-again": texts["rows.py"].replace(
            ranked, ranked[:-2] + ', rank=int(__import__("os").environ["RANK"]), world_size=2\n)'
        ),
        "batch-differs": texts["rows.py"].replace("train_batch_size=4", "train_batch_size=8"),
        "steps-batched": texts["rows.py"].replace("from mixture.adapters.datasets import iterable_dataset\n", batches),
        "ranks-differ": texts["trainer.py"]
        .replace("rank=self.args.process_index,", "")
        .replace("world_size=self.args.world_size,", ""),
    }
    for code, program in wrong.items():
        assert program not in texts.values()
        (folder / "wrong.py").write_text(
            "import os\nfrom mixture.errors import StreamError\ntry:\n"
            + "".join(f"    {line}\n" for line in program.splitlines())
            + "except StreamError as error:\n    os.write(1, f'refused: {error.code}\\n'.encode())\n    os._exit(0)\n",
            encoding="utf-8",
        )
        done = subprocess.run(
            (*TORCHRUN, "wrong.py", "6"), cwd=folder, capture_output=True, text=True, check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        assert f"refused: {code}" in done.stdout, f"{code}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"


def test_accelerate_leaves_a_loader_of_its_ranks_as_it_is_with_its_place_and_refuses_another(folder: Path) -> None:
    pytest.importorskip("accelerate")
    recipe = (folder / "accelerated.py").read_text(encoding="utf-8")
    line = "f\"{batch['step']} {accelerator.process_index} {batch['position'].tolist()}\\n\""
    shown = f"    os.write(1, {line}.encode())\n    if batch"  # in one write: the processes share the output
    program = recipe.replace("    if batch", shown) + "accelerator.end_training()\n"
    (folder / "shown.py").write_text(program, encoding="utf-8")
    for first_step in (0, 6):  # the second time from its checkpoint
        lines = run(folder, *TORCHRUN, "shown.py").splitlines()
        assert sorted(lines) == sorted(
            f"{step} {rank} {[step * 8 + rank * 4 + row for row in range(4)]}"
            for step in range(first_step, first_step + 6)
            for rank in range(2)
        )
    other = recipe.replace("rank=accelerator.process_index", "rank=1 - accelerator.process_index")
    caught = (
        "from mixture.errors import StreamError\ntry:\n    iter(loader)\nexcept StreamError as error:\n"
        "    os.write(1, f'{error.code}\\n'.encode())\n    accelerator.end_training()\n    raise SystemExit(0)\n"
        "for batch in loader:"
    )
    (folder / "other.py").write_text(other.replace("for batch in loader:", caught), encoding="utf-8")
    assert run(folder, *TORCHRUN, "other.py").split() == ["ranks-differ"] * 2


def test_lightning_trains_on_the_runs_steps_and_resumes_from_its_own_checkpoint(folder: Path) -> None:
    pytest.importorskip("lightning")
    assert in_two_processes(folder, "lightning_ddp.py", "6") == expected(folder, 0, 6)
    assert in_two_processes(folder, "lightning_ddp.py", "9") == expected(folder, 6, 9)


def test_lightnings_own_sampler_over_steps_is_refused(folder: Path) -> None:
    pytest.importorskip("lightning")
    recipe = (folder / "lightning_ddp.py").read_text(encoding="utf-8")
    steps = "        return torch.utils.data.DataLoader(\n            MixtureSteps("
    program = recipe.replace("        return MixtureLoader(\n            MixtureBatches(", steps).replace(
        "world_size=self.trainer.world_size)\n", "world_size=self.trainer.world_size),\n            batch_size=None,\n"
        "            sampler=range(200),\n",
    ).replace("import MixtureBatches, MixtureLoader", "import MixtureSteps")  # fmt: skip
    assert program.count("MixtureSteps") == 2
    (folder / "steps.py").write_text(program, encoding="utf-8")
    done = subprocess.run((*TORCHRUN, "steps.py", "6"), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "StreamError: DistributedSamplerWrapper would change the order" in done.stderr


def test_processes_of_jax_make_the_global_batch_of_their_rows(folder: Path) -> None:
    pytest.importorskip("jax")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = (
        "import json\nfrom pathlib import Path\nimport numpy\n"
        "shards = tokens.addressable_shards\n"
        "rows = {str(each.index[0].start or 0): numpy.asarray(each.data).tolist() for each in shards}\n"
        "Path('rows-' + sys.argv[1] + '.json').write_text(json.dumps(rows))\n"
    )
    program = (folder / "jax_processes.py").read_text(encoding="utf-8").replace("9876", str(port)) + shown
    (folder / "shown.py").write_text(program, encoding="utf-8")
    ranks = [subprocess.Popen((sys.executable, "shown.py", str(rank)), cwd=folder) for rank in range(2)]
    try:
        assert [rank.wait(timeout=300) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()
    stream = open_stream(folder / "mixture.lock.json", folder / "store", first_step=5, next_token=True)
    rows = [json.loads((folder / f"rows-{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]
    assert [list(part) for part in rows] == [["0"], ["4"]]
    assert np.array_equal([row for part in rows for some in part.values() for row in some], next(stream).input_ids)


def test_torchtitan_takes_its_tuple_and_resumes(folder: Path) -> None:
    pytest.importorskip("torchtitan")
    asked = """
for rank in range(2):
    def build():
        config = MixtureDataLoader.Config(lock="mixture.lock.json", store="store")
        return config.build(dp_rank=rank, dp_world_size=2, tokenizer=None, seq_len=256, local_batch_size=4)
    loader = build()
    steps = iter(loader)
    for _ in range(5):
        next(steps)
    resumed = build()
    resumed.load_state_dict(loader.state_dict())
    inputs, labels = next(iter(resumed))
    rows = next(open_stream("mixture.lock.json", "store", rank, 2, first_step=5, next_token=True)).input_ids
    assert (inputs["input"].numpy() == rows[:, :-1]).all() and (labels.numpy() == rows[:, 1:]).all()
"""
    run(folder, sys.executable, "-c", (folder / "titan.py").read_text(encoding="utf-8") + asked)


def test_levanters_loader_reads_the_runs_steps(folder: Path) -> None:
    pytest.importorskip("levanter")
    asked = """
import jax, numpy
from levanter.data import DataLoader
mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("data",))
with mesh:
    loader = DataLoader(MixtureDataset(), 8, mesh=mesh, axis_resources={"batch": "data"}, max_buffered_batches=4)
    batch = next(loader.iter_from_step(5))
rows = next(open_stream("mixture.lock.json", "store", first_step=5)).input_ids
assert (numpy.asarray(batch.tokens.array) == rows).all()
assert batch.loss_weight.array[:, :-1].all() and not batch.loss_weight.array[:, -1].any()
"""
    run(folder, sys.executable, "-c", (folder / "levanter_data.py").read_text(encoding="utf-8") + asked)
