"""Losses by domain of NumPy arrays, and their log as JSON lines, beside sums written out one by one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mixture.adapters.loss_logs import JsonLinesLog, LossLogger, WandbLog
from mixture.adapters.losses import DomainLosses, losses_by_domain
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream import open_stream

DOMAIN = np.array([2, 0, 2, 2], np.int32)


def test_losses_of_tokens_are_summed_and_counted_by_their_rows_domain() -> None:
    losses = np.arange(12, dtype=np.float32).reshape(4, 3)
    sums, counts = losses_by_domain(losses, DOMAIN, num_domains=4)
    assert sums.tolist() == [12.0, 0.0, 54.0, 0.0]
    assert counts.tolist() == [3, 0, 9, 0]


def test_losses_of_rows_count_once_each() -> None:
    sums, counts = losses_by_domain(np.array([1.0, 2.0, 3.0, 5.0]), DOMAIN, num_domains=3)
    assert (sums.tolist(), counts.tolist()) == ([2.0, 0.0, 9.0], [1, 0, 3])


def test_what_is_masked_does_not_count_even_where_it_is_no_number() -> None:
    losses = np.array([[1.0, np.nan], [np.inf, 4.0], [2.0, 2.0], [np.nan, np.nan]], np.float16)
    mask = np.array([[True, False], [False, True], [True, True], [False, False]])
    sums, counts = losses_by_domain(losses, DOMAIN, num_domains=3, loss_mask=mask)
    assert (sums.tolist(), counts.tolist()) == ([4.0, 0.0, 5.0], [1, 0, 3])


def test_sums_of_many_small_losses_are_exact_to_double_precision() -> None:
    losses = np.full((2, 1 << 20), 0.1, np.float32)
    sums, _ = losses_by_domain(losses, np.zeros(2, np.int64), num_domains=1)
    assert sums[0] == pytest.approx((1 << 21) * float(np.float32(0.1)), rel=1e-12)


def test_a_batch_without_rows_has_sums_of_nothing() -> None:
    for shape in ((0,), (0, 5)):
        sums, counts = losses_by_domain(np.zeros(shape), np.zeros(0, np.int32), num_domains=2)
        assert (sums.tolist(), counts.tolist()) == ([0.0, 0.0], [0, 0])


@pytest.mark.parametrize("wrong", [-1, 3])
def test_domains_that_are_none_are_refused_and_not_counted_from_the_end(wrong: int) -> None:
    with pytest.raises(StreamError, match="and 3 are counted from 0") as refused:
        losses_by_domain(np.ones(2), np.array([wrong, 0]), num_domains=3)
    assert refused.value.code == "domain-outside"


def test_a_mask_of_numbers_counts_as_one_of_truth_values() -> None:
    sums, counts = losses_by_domain(np.array([[9.0, 2.0]]), np.array([0]), num_domains=1, loss_mask=np.array([[0, 2]]))
    assert (sums.tolist(), counts.tolist()) == ([2.0], [1])


@pytest.mark.parametrize(
    ("losses", "domain", "mask"), [((4, 3, 2), (4,), None), ((4, 3), (3,), None), ((4, 3), (4,), (4,)), ((), (), None)]
)
def test_shapes_that_do_not_fit_are_refused(losses: tuple, domain: tuple, mask: tuple | None) -> None:
    with pytest.raises(StreamError) as caught:
        losses_by_domain(
            np.zeros(losses),
            np.zeros(domain, np.int32),
            num_domains=3,
            loss_mask=None if mask is None else np.ones(mask, np.bool_),
        )
    assert caught.value.code == "shape-differs"


def test_means_over_steps_are_by_tokens_and_name_only_what_there_was() -> None:
    found = DomainLosses(["web", "code", "papers"])
    assert (found.means(), found.counts(), found.mean()) == ({}, {}, None)
    found.add(np.array([[1.0, 3.0], [8.0, 8.0]]), np.array([0, 1]))
    found.add(np.array([[5.0, 100.0]]), np.array([0]), loss_mask=np.array([[True, False]]))
    assert found.means() == {"web": 3.0, "code": 8.0}
    assert found.counts() == {"web": 3, "code": 2}
    assert found.mean() == 5.0
    found.reset()
    assert found.means() == {}


class Run:
    """What stands in for a run of Weights & Biases, which needs its service: it has `log` as that has."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))


def test_logs_say_mean_losses_and_what_was_consumed_every_few_steps(lock: Lock, store: Store, tmp_path: Path) -> None:
    run = Run()
    logger = LossLogger(lock, JsonLinesLog(tmp_path / "log.jsonl"), WandbLog(run), every=5)
    read: dict[str, int] = {}
    losses: dict[str, list[float]] = {}
    expected = []
    for batch in open_stream(lock, store):
        of_rows = batch.position / 10
        for d, loss in zip(batch.domain.tolist(), of_rows.tolist(), strict=True):
            name = lock.schedule().names[d]
            read[name] = read.get(name, 0) + batch.length
            losses.setdefault(name, []).append(loss)
        logger.on_step(batch.step, of_rows, batch.domain)
        if batch.step % 5 == 4:
            total = sum(read.values())
            expected.append(
                {
                    "step": batch.step,
                    "mean_loss": pytest.approx(np.mean([loss for some in losses.values() for loss in some])),
                    "loss": {name: pytest.approx(np.mean(some)) for name, some in losses.items()},
                    "tokens": total,
                    "share": {name: pytest.approx(count / total) for name, count in read.items()},
                }
            )
            losses.clear()
    logger.close()
    found = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found == expected
    assert [step for step, _ in run.logged] == [4, 9, 14]
    assert run.logged[0][1]["share/code"] == found[0]["share"]["code"]


def test_a_loss_that_is_no_number_is_null_and_a_restarted_log_goes_on(tmp_path: Path) -> None:
    for step, loss in ((3, float("nan")), (4, float("inf")), (3, 2.5)):
        log = JsonLinesLog(tmp_path / "log.jsonl")
        log.write(step, {"loss/a/b": loss, "tokens": 2**60})
        log.close()
    found = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["loss"]["a/b"] for line in found] == [None, None, 2.5]
    assert [(line["step"], line["tokens"]) for line in found] == [(3, 2**60), (4, 2**60), (3, 2**60)]
