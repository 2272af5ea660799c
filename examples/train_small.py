"""Trains a very small model, is killed twice, goes on with other numbers of ranks and workers, and reads the same data.

    python examples/train_small.py --folder /tmp/small

The run has 200 steps over three packages of Python's own library. It is trained once without a stop, on one rank. Then
it is trained on two ranks, each with a loader's worker, killed, trained on three ranks without workers, killed, and
finished on one rank with two workers. Each of these begins from what the one before saved last. Every step has to read
the same global batch, byte for byte, as in the run that was never stopped; the losses have to agree to 1 in 100,000:
gradients are summed in another order, in float32. It takes about half a minute.

It needs the extra `torch`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mixture import ingest, make_lock, make_plan, open_store, open_stream, read_spec, write_lock

STEPS, SAVE_EVERY, TOLERANCE = 200, 10, 1e-5
SPEC = """\
mixture: small
catalog: store
tokenizer: bytes
sequence_length: 64
batch: 24 sequences
budget: 200 steps
phases:
  - {phase: first, until: 70%, weights: {asyncio: 50%, email: 30%, json: 20%}}
  - {phase: last, weights: {asyncio: 20%, json: 80%}}
"""


@dataclass(frozen=True)
class Part:
    """Ranks and workers, and the step at which they are killed; None: they come to the end."""

    ranks: int
    workers: int
    killed_at: int | None = None


WHOLE = (Part(1, 0),)
STOPPED = (Part(2, 1, killed_at=65), Part(3, 0, killed_at=130), Part(1, 2))


def prepare(folder: Path) -> None:
    """A store of the three packages' source files, and a lock over it."""
    if (folder / "mixture.lock.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    library = sysconfig.get_path("stdlib")
    lines = [f"  {name}: {{files: ['{library}/{name}/*.py']}}" for name in ("asyncio", "email", "json")]
    (folder / "sources.yaml").write_text("\n".join(["domains:", *lines, ""]), encoding="utf-8")
    (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    ingest(folder / "sources.yaml", folder / "store", processes=1)
    content = {name: domain.content for name, domain in open_store(folder / "store").domains.items()}
    write_lock(make_lock(make_plan(read_spec(folder / "mixture.yaml")), content=content), folder / "mixture.lock.json")


def train(folder: Path, run: Path, rank: int, part: Part, meeting: str) -> None:
    """One rank: from the last checkpoint of the run to its end."""
    import torch
    import torch.distributed as dist
    from torch import nn

    from mixture.adapters.columns import Column, Columns
    from mixture.adapters.loss_logs import JsonLinesLog, LossLogger
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=part.ranks)
    dataset = MixtureBatches(
        partial(open_stream, folder / "mixture.lock.json", folder / "store"),
        rank=rank,
        world_size=part.ranks,
        columns=Columns((Column.INPUT_IDS, Column.LABELS, Column.DOMAIN)),
    )
    loader = MixtureLoader(dataset, num_workers=part.workers)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(257, 16), Last(4), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 257))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    saved = run / "checkpoint.pt"
    if saved.exists():
        checkpoint = torch.load(saved, weights_only=True)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        loader.load_state_dict(json.loads(checkpoint["data"]))
    lock = open_stream(folder / "mixture.lock.json", folder / "store").lock
    logger = LossLogger(lock, *([JsonLinesLog(run / "losses.jsonl")] if rank == 0 else []))

    for batch in loader:
        step, labels = batch["step"], batch["labels"]
        taken = labels != -100
        losses = nn.functional.cross_entropy(model(batch["input_ids"]).transpose(1, 2), labels, reduction="none")
        total = torch.stack([losses.sum(), taken.sum()])
        optimizer.zero_grad()
        losses.sum().backward()
        dist.all_reduce(total)
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= total[1]
        optimizer.step()
        logger.on_step(step, losses.detach(), batch["domain"], loss_mask=taken)
        rows = [torch.empty_like(batch["input_ids"]) for _ in range(part.ranks)] if rank == 0 else None
        dist.gather(batch["input_ids"], rows)
        if rank == 0 and rows is not None:
            digest = hashlib.sha256(torch.cat(rows).numpy().tobytes()).hexdigest()
            with (run / "batches.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, "ranks": part.ranks, "batch": digest}) + "\n")
            if (step + 1) % SAVE_EVERY == 0:
                state = {
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "data": json.dumps(loader.state_dict()),
                }
                torch.save(state, run / "checkpoint.new")
                os.replace(run / "checkpoint.new", saved)  # noqa: PTH105 (whole or not at all)
    dist.destroy_process_group()


def Last(count: int) -> Any:  # noqa: N802, ANN401 (a module, whose library is imported late)
    """A layer that joins each place's vector to those of the count - 1 places before it."""
    import torch
    from torch import nn

    class Joined(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            padded = nn.functional.pad(x, (0, 0, count - 1, 0))
            return torch.cat([padded[:, i : i + x.shape[1]] for i in range(count)], dim=2)

    return Joined()


def drive(folder: Path, name: str, parts: tuple[Part, ...]) -> Path:
    """Train a run part by part, each in processes of its own."""
    run = folder / name
    run.mkdir()
    for number, part in enumerate(parts):
        meeting = f"file://{run.resolve()}/meeting-{number}"
        arguments = [sys.executable, __file__, "--folder", str(folder), "--run", name, "--part", str(number)]
        processes = [
            subprocess.Popen([*arguments, "--rank", str(rank), "--meeting", meeting], start_new_session=True)
            for rank in range(part.ranks)
        ]
        try:
            watch(processes, run, part)
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and its workers
            for process in processes:
                process.wait()
    return run


def watch(processes: list[subprocess.Popen[bytes]], run: Path, part: Part) -> None:
    """Until a part has ended, or has come to the step at which it is killed."""
    while any(process.poll() is None for process in processes):
        if any(process.poll() for process in processes):
            raise SystemExit("a rank has failed")
        if part.killed_at is not None and last_step(run) >= part.killed_at:
            print(f"killed {part.ranks} ranks at step {last_step(run)}", flush=True)
            return
        time.sleep(0.05)
    if any(process.returncode for process in processes):
        raise SystemExit("a rank has failed")


def last_step(run: Path) -> int:
    """The last step that was trained; -1 before the first."""
    path = run / "batches.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    return int(json.loads(whole[-1])["step"]) if whole else -1


def compare(whole: Path, stopped: Path) -> None:
    """Every line of the stopped run, those of steps that were trained twice too, against the run without a stop."""

    def lines(path: Path) -> list[dict[str, Any]]:
        # What was being written when its process was killed is no line.
        text = path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    batches = {line["step"]: line["batch"] for line in lines(whole / "batches.jsonl")}
    losses = {line["step"]: line["mean_loss"] for line in lines(whole / "losses.jsonl")}
    found = lines(stopped / "batches.jsonl")
    wrong = [line["step"] for line in found if batches[line["step"]] != line["batch"]]
    apart = max(abs(line["mean_loss"] / losses[line["step"]] - 1) for line in lines(stopped / "losses.jsonl"))
    steps = {line["step"] for line in found}
    if wrong or steps != set(range(STEPS)) or set(batches) != steps or apart > TOLERANCE:
        raise SystemExit(f"not the same: steps {wrong[:5]} read others, losses are up to {apart:.1e} apart")
    print(
        f"{STEPS} steps, {len(found) - STEPS} of them trained twice: the same global batches; losses at most "
        f"{apart:.1e} apart, from {losses[0]:.3f} down to {losses[STEPS - 1]:.3f}"
    )


def main() -> None:
    """Drive both runs and compare them; with --rank, be one rank of a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where store, lock and runs are put")
    parser.add_argument("--run", choices=("whole", "stopped"), help=argparse.SUPPRESS)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    runs = {"whole": WHOLE, "stopped": STOPPED}
    if asked.rank is not None:
        train(asked.folder, asked.folder / asked.run, asked.rank, runs[asked.run][asked.part], asked.meeting)
        return
    prepare(asked.folder)
    compare(*(drive(asked.folder, name, parts) for name, parts in runs.items()))


if __name__ == "__main__":
    main()
