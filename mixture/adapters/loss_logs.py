"""Losses by domain and the composition that was consumed, to a JSON lines file, TensorBoard or Weights & Biases."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from mixture.adapters.losses import DomainLosses
from mixture.lock import Lock


class Log(Protocol):
    """Where figures go: named numbers of a step."""

    def write(self, step: int, values: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class JsonLinesLog:
    """A line a call: {"step": …, "loss": {domain: …}, …}, names with a / as objects. Goes on behind what is there.

    A line is written whole and flushed; where a run is restarted from an older step, later lines of a step count.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: TextIO = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 (closed by close)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Append a line. What is no number (NaN, infinite) is null, which JSON has."""
        line: dict[str, Any] = {"step": step}
        for name, value in values.items():
            group, _, rest = name.partition("/")
            known = value if value - value == 0 else None
            if rest:
                line.setdefault(group, {})[rest] = known
            else:
                line[group] = known
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoardLog:
    """Scalars by name. Needs `tensorboard` beside torch."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Add them as scalars."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush and close."""
        self._writer.close()


class WandbLog:
    """`run.log` of a Weights & Biases run: what `wandb.init` gives, or anything that has `log` as it does."""

    def __init__(self, run: Any) -> None:  # noqa: ANN401 (wandb is not needed to be installed)
        self._run = run

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Log them at a step."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """The run is its owner's to finish."""


class LossLogger:
    """A callback: after every `every` steps, mean losses by domain since the last time, and what was consumed so far.

    Names are `loss/DOMAIN`, `mean_loss` over all losses, `tokens` consumed so far and `share/DOMAIN` of them, both as
    the lock has it: nobody counts. Where torch.distributed is running, losses of all ranks are added up; give logs to
    one rank.
    """

    def __init__(self, lock: Lock, *logs: Log, every: int = 1) -> None:
        self._schedule = lock.schedule()
        self._logs, self._every = logs, every
        self.losses = DomainLosses(self._schedule.names)

    def on_step(self, step: int, losses: Any, domain: Any, *, loss_mask: Any = None) -> None:  # noqa: ANN401 (array or tensor)
        """Take the losses of a step that was trained on, as `losses_by_domain` does, and log where it is time."""
        self.losses.add(losses, domain, loss_mask=loss_mask)
        if (step + 1) % self._every == 0:
            self.flush(step)

    def flush(self, step: int) -> None:
        """Log what there is since the last time, behind a step."""
        if _is_distributed():
            self.losses.all_reduce()
        if self._logs:
            values = self._values(step + 1)
            for log in self._logs:
                log.write(step, values)
        self.losses.reset()

    def close(self) -> None:
        """Close the logs."""
        for log in self._logs:
            log.close()

    def _values(self, steps: int) -> dict[str, float]:
        tokens = self._schedule.tokens(steps).tolist()
        total = sum(tokens)
        mean = self.losses.mean()
        values: dict[str, float] = {} if mean is None else {"mean_loss": mean}
        values |= {f"loss/{name}": loss for name, loss in self.losses.means().items()}
        values["tokens"] = total
        return values | {
            f"share/{name}": drawn / total for name, drawn in zip(self._schedule.names, tokens, strict=True) if drawn
        }


def _is_distributed() -> bool:
    import sys

    torch = sys.modules.get("torch")  # who has no torch has no ranks of it
    return torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()
