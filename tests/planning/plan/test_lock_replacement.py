"""Which lock files a new lock may replace."""

from __future__ import annotations

from pathlib import Path

import pytest
from lock_of_run import lock_of_run
from schedule.making import make_run

from mixture.errors import LockError
from mixture.lock import Lock, check_replaceable, lock_to_replace, write_lock
from mixture.planning.amend import amend
from mixture.planning.ladder import make_ladder, parse_rung
from mixture.planning.spec import read_spec

DEMO = Path(__file__).parents[3] / "mixtures" / "demo" / "mixture.yaml"


def lock() -> Lock:
    return lock_of_run(make_run({"a": 6_400, "b": 3_200}, [(60, 16, [1, 1])], [(0, 8)]), ("main", 0))


def test_a_lock_that_a_spec_alone_gives_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mixture.lock.json"
    assert lock_to_replace(path) is None
    write_lock(lock(), path)
    old = lock_to_replace(path)
    assert old == lock()
    check_replaceable(old, path)


def test_an_amended_lock_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mixture.lock.json"
    write_lock(amend(lock(), 30, {"a": 1}), path)
    old = lock_to_replace(path)
    assert old is not None
    with pytest.raises(LockError) as caught:
        check_replaceable(old, path)
    error = caught.value
    assert (error.code, error.facts) == ("lock-amended", {"step": 30})
    assert str(error).startswith(f"{path}: this lock was amended at step 30: ")


def test_a_lock_with_pools_is_not_replaced(tmp_path: Path) -> None:
    (rung,) = make_ladder(read_spec(DEMO), [parse_rung("500M:64")], simulate_epochs=True)
    with pytest.raises(LockError) as caught:
        check_replaceable(rung.lock(), tmp_path / "rung.lock.json")
    assert caught.value.code == "lock-has-pools"


def test_a_damaged_lock_is_replaced_and_a_file_that_is_no_lock_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mixture.lock.json"
    write_lock(lock(), path)
    path.write_text(path.read_text(encoding="utf-8").replace('"seed": 0', '"seed": 1'), encoding="utf-8")
    assert lock_to_replace(path) is None
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(LockError) as caught:
        lock_to_replace(path)
    assert caught.value.code == "lock-not-json"
