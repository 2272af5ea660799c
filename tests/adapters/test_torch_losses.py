"""Losses by domain of torch tensors are those of arrays, and of ranks together those of one."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mixture.adapters.losses import DomainLosses, losses_by_domain
from mixture.errors import StreamError

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'"),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(9,), (9, 5), (0, 5)])
def test_tensors_give_what_arrays_do(dtype: str, shape: tuple[int, ...]) -> None:
    import torch

    generator = np.random.default_rng(3)
    losses = torch.tensor(generator.random(shape)).to(getattr(torch, dtype)).requires_grad_()
    domain = torch.tensor(generator.integers(0, 4, shape[0]), dtype=torch.int32)
    mask = torch.tensor(generator.random(shape) < 0.7)
    array = losses.detach().double().numpy()
    for loss_mask in (None, mask):
        sums, counts = losses_by_domain(losses, domain, num_domains=4, loss_mask=loss_mask)
        as_array = None if loss_mask is None else loss_mask.numpy()
        expected = losses_by_domain(array, domain.numpy(), num_domains=4, loss_mask=as_array)
        assert sums.dtype == torch.float64
        assert not sums.requires_grad
        assert sums.tolist() == pytest.approx(expected[0].tolist(), rel=1e-12)
        assert counts.tolist() == expected[1].tolist()


def test_means_of_tensors_leave_out_what_is_masked_though_it_is_no_number() -> None:
    import torch

    found = DomainLosses(["web", "code"])
    losses = torch.tensor([[1.0, float("nan")], [4.0, 6.0]])
    found.add(losses, torch.tensor([0, 1]), loss_mask=~losses.isnan())
    found.add(torch.tensor([[3.0]]), torch.tensor([0]))
    assert found.means() == {"web": 2.0, "code": 5.0}


def test_tensorboard_gets_scalars_by_name(tmp_path: Path) -> None:
    if find_spec("tensorboard") is None:
        pytest.skip("tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from mixture.adapters.loss_logs import TensorBoardLog

    log = TensorBoardLog(tmp_path / "events")
    log.write(7, {"loss/web": 2.5, "mean_loss": 2.0})
    log.close()
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert [(one.step, one.value) for one in events.Scalars("loss/web")] == [(7, 2.5)]


RANK = """
import sys
import torch
import torch.distributed as dist
from mixture.adapters.losses import DomainLosses

rank, meeting = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
losses = DomainLosses(["web", "code", "papers"])
losses.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * (rank + 1), torch.tensor([0, rank]))
losses.all_reduce()
print(losses.means(), losses.counts())
dist.destroy_process_group()
"""


def test_ranks_add_up_to_the_losses_of_all_their_rows(tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text(RANK, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "rank.py")]
    meeting = f"file://{tmp_path}/meeting"
    ranks = [
        subprocess.Popen([*command, str(rank), meeting], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for rank in ranks:
        out, errors = rank.communicate(timeout=120)
        assert rank.returncode == 0, errors
        # rank 0: web 1 2 3 4; rank 1: web 2 4, code 6 8
        assert out.strip() == str({"web": 16 / 6, "code": 7.0}) + " " + str({"web": 6, "code": 2})


def test_tensors_of_domains_that_are_none_are_refused_and_masks_of_numbers_are_taken() -> None:
    import torch

    with pytest.raises(StreamError) as refused:
        losses_by_domain(torch.ones(2), torch.tensor([0, -1]), num_domains=3)
    assert refused.value.code == "domain-outside"
    mask = torch.tensor([[0, 1]])
    sums, counts = losses_by_domain(torch.tensor([[9.0, 2.0]]), torch.tensor([0]), num_domains=1, loss_mask=mask)
    assert (sums.tolist(), counts.tolist()) == ([2.0], [1])
