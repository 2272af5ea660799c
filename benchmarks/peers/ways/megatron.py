"""Megatron's compiled helper that says which dataset each sample is of, called as its BlendedDataset calls it."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.peers.answer import Answer, Asked, serve

HELPER = "helpers_cpp"


def helper() -> ModuleType:
    """The helper alone: the package around it imports torch and more."""
    package = distribution("megatron-core")
    for file in package.files or ():
        if file.name.startswith(HELPER) and file.suffix == ".so":
            spec = spec_from_file_location(HELPER, str(package.locate_file(file)))
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("this megatron-core has no compiled helper")


def begin(folder: Path) -> tuple[Answer, Callable[[Asked], Answer]]:
    """Ask for `positions` over `shares`; the domains go into a file in the folder."""
    module = helper()

    def reply(asked: Asked) -> Answer:
        shares = np.array(asked["shares"])
        domain = np.zeros(asked["positions"], np.int16)
        sample = np.zeros(asked["positions"], np.int64)
        start = time.perf_counter()
        module.build_blending_indices(domain, sample, shares, len(shares), len(domain), False)
        seconds = time.perf_counter() - start
        np.save(folder / "megatron-domains.npy", domain)
        return {"seconds": seconds}

    return {"version": distribution("megatron-core").version}, reply


if __name__ == "__main__":
    serve(begin)
