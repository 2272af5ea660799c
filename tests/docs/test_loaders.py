"""docs/loaders.md runs from its first line to its last, and has every option, column and log that there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from api_helpers import serving
from docs.folder import run_block, run_python, write_text
from docs.pages import blocks, page, rows_of

from mixture.adapters import loss_logs
from mixture.adapters.columns import Column, Columns
from mixture.adapters.datasets import iterable_dataset
from mixture.adapters.grain import rank_steps, sharded_sequences
from mixture.adapters.rank_reader import SequenceSource, StepSource
from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.data.storage import ObjectOptions
from mixture.stream import open_stream, read_ahead

PAGE = "loaders.md"
SERVICE = "http://127.0.0.1:8000"
"""Where the page has the service; here it listens on a free port."""
BEGUN = "… begin with my own text?"
"""What stands under this heading of how-to.md makes the store and the lock."""
RECIPE = re.compile(r"# (\w+\.py)\n")
"""What a program that is a file of its own begins with."""
OF_TORCHDATA = ("'set_vital' is deprecated",)
"""A warning of torch about what torchdata's loader calls."""
OPTIONS: list[Callable[..., Any]] = [
    open_stream, open_remote_stream, read_ahead, iterable_dataset, StepSource, SequenceSource, rank_steps,
    sharded_sequences, Columns, ObjectOptions,
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page begins, with the files that it makes."""
    place = tmp_path_factory.mktemp("loaders")
    write_text(place)
    begun = [block for block in blocks("how-to.md") if block.heading == BEGUN]
    for block in [*begun, *blocks(PAGE)]:
        if recipe := RECIPE.match(block.text):
            (place / recipe[1]).write_text(block.text, encoding="utf-8")
        elif block.language != "python":
            run_block(block, place)
    return place


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[str]:
    settings = Settings(
        data_dir=folder / "data", mixtures_dirs=(folder,), store_dirs=(folder / "store",), rate_per_second=0
    )
    with serving(create_app(settings)) as address:
        yield address


def _program(service: str, *, without: str) -> str:
    """The page's Python in one session, but for blocks in which a pattern stands."""
    texts = [block.text for block in blocks(PAGE) if block.language == "python" and not RECIPE.match(block.text)]
    assert SERVICE in "".join(texts)
    return "\n".join(text for text in texts if not re.search(without, text)).replace(SERVICE, service)


def test_what_needs_no_extra_runs_in_the_order_written(folder: Path, service: str) -> None:
    program = _program(service, without="torch|Mixture|adapters.grain|stream.load_state_dict")
    assert program.count("assert") >= 6
    run_python(program, folder)


@pytest.mark.needs_torch
def test_everything_runs_in_the_order_written(folder: Path, service: str) -> None:
    for name in ("torch", "torchdata", "grain", "tensorboard"):
        pytest.importorskip(name)
    run_python(_program(service, without="^$"), folder, ignored=OF_TORCHDATA)


def described() -> set[tuple[str, str]]:
    """(whose, option) of the page's tables of options."""
    return {
        (owner, name)
        for names, owners, *_ in rows_of(PAGE, head="option")
        for owner in re.findall(r"`(\w+)`", owners)
        for name in re.findall(r"`(\w+)`", names)
    }


def options(callables: list[Callable[..., Any]]) -> set[tuple[str, str]]:
    return {(one.__name__, name) for one in callables for name in inspect.signature(one).parameters}


OF_TORCH = {"MixtureBatches", "MixtureSteps", "MixtureLoader", "stream_state"}


def test_every_option_of_a_stream_and_its_loaders_has_a_line_and_no_other() -> None:
    assert {(owner, name) for owner, name in described() if owner not in OF_TORCH} == options(OPTIONS)


@pytest.mark.needs_torch
def test_every_option_of_torchs_loaders_has_a_line_and_no_other() -> None:
    adapter = pytest.importorskip("mixture.adapters.torch")
    own = [one for one in vars(adapter).values() if getattr(one, "__module__", "") == adapter.__name__]
    public = [one for one in own if not one.__name__.startswith("_") and one.__name__ != "tensors"]
    assert {one.__name__ for one in public} == OF_TORCH
    assert {(owner, name) for owner, name in described() if owner in OF_TORCH} == options(public)


def test_every_column_and_every_log_has_a_line() -> None:
    columns = [name for names, *_ in rows_of(PAGE, head="column") for name in re.findall(r"`(\w+)`", names)]
    assert sorted(columns) == sorted(Column)
    logs = [name.strip("`") for name, *_ in rows_of(PAGE, head="log")]
    assert sorted(logs) == sorted(name for name in vars(loss_logs) if re.fullmatch(r"\w+Log", name))


def test_what_is_said_to_be_the_default_is() -> None:
    said = re.search(r"by default ((?:`\w+`(?:, | and )?)+):", page(PAGE))
    assert said
    assert tuple(re.findall(r"`(\w+)`", said[1])) == Columns().names
    defaults = {one: inspect.signature(one).parameters for one in (open_stream, read_ahead, rank_steps)}
    assert defaults[open_stream]["fetch_ahead"].default == 4
    assert (defaults[read_ahead]["steps"].default, defaults[rank_steps]["steps_ahead"].default) == (4, 4)
    assert ObjectOptions() == ObjectOptions(cache_bytes=50 * 10**9, memory_bytes=512 << 20, in_flight=32)


def test_every_refusal_of_a_state_is_an_error_code() -> None:
    refused = [name.strip("`") for name, *_ in rows_of(PAGE, head="it refuses")]
    assert len(refused) >= 6
    assert all(f"`{code}`" in page("errors.md") for code in refused)
