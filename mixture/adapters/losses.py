"""Losses by domain: sums and counts of a batch, added up over steps and ranks. NumPy arrays or torch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from mixture.errors import StreamError

if TYPE_CHECKING:
    import torch

Array = Any
"""A NumPy array or a torch tensor."""


def losses_by_domain(
    losses: Array, domain: Array, *, num_domains: int, loss_mask: Array | None = None
) -> tuple[Array, Array]:
    """Sums of losses, and how many they are, by domain: [num_domains] both, of what `losses` is and on its device.

    losses:    [n], or [n, L] a token; of any float type, summed in float32 at least, on the CPU in float64
    domain:    [n], integers below num_domains, as batches have them
    loss_mask: bool, of the shape of losses: which of them count; those that do not may be anything, NaN too

    Nothing waits for a device: what is on one stays there. Losses of tokens that count by rows [n] are means of unlike
    many tokens where some are masked: give [n, L] then.

    Raises StreamError, `shape-differs`; `domain-outside`, of numbers that lie in this process's memory: a device is not
    waited for.
    """
    _check_shapes(losses, domain, loss_mask)
    if isinstance(domain, np.ndarray) or domain.device.type == "cpu":
        _check_domains(domain, num_domains)
    if isinstance(losses, np.ndarray):
        return _with_numpy(losses, np.asarray(domain), num_domains, loss_mask)
    return _with_torch(losses, domain, num_domains, loss_mask)


def _with_numpy(
    losses: npt.NDArray[np.floating], domain: npt.NDArray[np.integer], num_domains: int, mask: Array | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    counted = np.ones(losses.shape, np.bool_) if mask is None else np.asarray(mask, np.bool_)
    by_row = _rows(np.where(counted, losses, 0).astype(np.float64)).sum(axis=1)
    sums = np.zeros(num_domains, np.float64)
    np.add.at(sums, domain, by_row)
    counts = np.zeros(num_domains, np.int64)
    np.add.at(counts, domain, _rows(counted).sum(axis=1))
    return sums, counts


def _with_torch(
    losses: torch.Tensor, domain: torch.Tensor, num_domains: int, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    wide = torch.float64 if losses.device.type == "cpu" else torch.float32
    domain = domain.to(losses.device, torch.int64, non_blocking=True)
    with torch.no_grad():
        if mask is None:
            by_row = _rows(losses).sum(1, dtype=wide)
            counted = torch.full_like(domain, losses[0].numel() if len(losses) else 0)
        else:
            mask = mask.to(losses.device, torch.bool, non_blocking=True)
            by_row = _rows(losses.masked_fill(~mask, 0)).sum(1, dtype=wide)
            counted = _rows(mask).sum(1)
        sums = torch.zeros(num_domains, dtype=wide, device=losses.device).index_add_(0, domain, by_row)
        counts = torch.zeros(num_domains, dtype=torch.int64, device=losses.device).index_add_(0, domain, counted)
    return sums, counts


def _rows(values: Array) -> Array:
    return values.reshape(len(values), -1) if len(values) else values.reshape(0, 1)


def _check_shapes(losses: Array, domain: Array, mask: Array | None) -> None:
    shapes = [tuple(losses.shape), tuple(domain.shape)] + ([] if mask is None else [tuple(mask.shape)])
    if len(shapes[0]) not in (1, 2) or shapes[1] != shapes[0][:1] or (mask is not None and shapes[2] != shapes[0]):
        raise StreamError(
            f"losses, domains and masks have shapes {shapes}",
            code="shape-differs",
            hint="losses [n] or [n, L], domains [n], masks as losses",
        )


def _check_domains(domain: Array, num_domains: int) -> None:
    """A number below 0 would be counted from the end."""
    if len(domain) and not 0 <= int(domain.min()) <= int(domain.max()) < num_domains:
        raise StreamError(
            f"domains go from {int(domain.min())} to {int(domain.max())}, and {num_domains} are counted from 0",
            code="domain-outside",
            hint="num_domains is the number of `stream.domains`",
        )


class DomainLosses:
    """Losses by domain over steps, in the order of names that a stream has.

    Adding waits for no device; `means` and `all_reduce` do. domains: `stream.domains`, or the dataset's
    """

    def __init__(self, domains: Sequence[str]) -> None:
        self.domains = tuple(domains)
        self._sums: Array | None = None
        self._counts: Array | None = None

    def add(self, losses: Array, domain: Array, *, loss_mask: Array | None = None) -> None:
        """Add the losses of a batch, as `losses_by_domain` takes them."""
        sums, counts = losses_by_domain(losses, domain, num_domains=len(self.domains), loss_mask=loss_mask)
        self._sums = sums if self._sums is None else self._sums + sums
        self._counts = counts if self._counts is None else self._counts + counts

    def all_reduce(self, group: object = None) -> None:
        """Add up what the ranks of a torch.distributed group have (default: all), on each of them.

        Means are right over data-parallel ranks, over context-parallel ones too, which have parts of rows, and over
        replicas that computed the same. Every rank of the group has to have added a batch.
        """
        import torch

        distributed = torch.distributed
        for name in ("_sums", "_counts"):
            value = getattr(self, name)
            if value is None:
                raise StreamError("no losses were added on this rank", code="losses-missing")
            tensor = torch.as_tensor(value)
            distributed.all_reduce(tensor, group=cast(Any, group))
            setattr(self, name, tensor)

    def means(self) -> dict[str, float]:
        """The mean loss of each domain of which there was any, by name."""
        sums, counts = self._known()
        return {name: total / count for name, total, count in zip(self.domains, sums, counts, strict=True) if count}

    def counts(self) -> dict[str, int]:
        """How many losses there were of each domain, of which there was any."""
        return {name: count for name, count in zip(self.domains, self._known()[1], strict=True) if count}

    def mean(self) -> float | None:
        """The mean over all of them; None where there was none."""
        sums, counts = self._known()
        return sum(sums) / sum(counts) if sum(counts) else None

    def reset(self) -> None:
        """Begin anew."""
        self._sums = self._counts = None

    def _known(self) -> tuple[list[float], list[int]]:
        if self._sums is None or self._counts is None:
            return [0.0] * len(self.domains), [0] * len(self.domains)
        return self._sums.tolist(), self._counts.tolist()
