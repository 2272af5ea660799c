"""What others may use, and what importing it costs."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from docs.python_page import PAGE, text

import mixture
from mixture import errors
from mixture.planning.yamlfile import SpecFileError


def test_every_public_name_is_there() -> None:
    for name in mixture.__all__:
        assert getattr(mixture, name) is not None
    assert len(set(mixture.__all__)) == len(mixture.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mixture.nothing


def test_the_page_of_pythons_names_is_made_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "python tests/docs/python_page.py writes it"
    assert {*mixture.__all__} == {"__version__", *(name for names in mixture.NAMES.values() for name in names)}


def test_what_commands_do_can_be_done_by_the_library() -> None:
    of_commands = {
        "plan": "make_plan", "lock": "make_lock", "lock --check": "check_lock", "amend": "amend", "diff": "diff",
        "explain": "explain", "ladder": "make_ladder", "ingest": "ingest", "verify": "verify_store",
        "catalog build": "build_catalog", "catalog add": "add_domain", "catalog refresh": "refresh_catalog",
        "pack -L": "pack_store", "pack --split-by-length": "split_store", "export-store": "export_store",
        "export": "export_mixture", "import": "import_mixture", "stream": "open_stream", "sample": "choose_sample",
        "trace step": "trace_step", "trace document": "trace_documents", "trace token": "trace_token",
        "trace read-so-far": "read_so_far",
    }  # fmt: skip
    assert set(of_commands.values()) <= set(mixture.__all__)


def test_importing_the_library_loads_none_of_the_large_packages() -> None:
    heavy = ("datasets", "duckdb", "numpy", "pandas", "pyarrow", "ray", "rich", "sklearn", "tokenizers", "torch")
    code = f"import sys, mixture; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_error_is_a_mixture_error_and_is_drawn_in_the_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MixtureError)]
    assert errors.__doc__ is not None
    for kind in kinds:
        assert kind.__name__ in errors.__doc__


def test_an_error_crosses_processes_whole() -> None:
    error = errors.SpecError("unknown domain", code="unknown-domain", place=errors.Place("a.yaml", 1, 2), name="cod")
    for made in (error, SpecFileError([error])):
        there = pickle.loads(pickle.dumps(made))
        assert type(there) is type(made)
        assert str(there) == str(made)
        assert (there.code, there.place, there.facts) == (made.code, made.place, made.facts)


def test_an_error_reads_place_message_and_hint() -> None:
    place = errors.Place("mixtures/a.yaml", 14, 7, "phases[0].weights.cod")
    hint = errors.nearest("cod", ["web", "code"])
    error = errors.SpecError("unknown domain 'cod'", code="unknown-domain", place=place, hint=hint, name="cod")
    assert str(error) == "mixtures/a.yaml:14:7: unknown domain 'cod' (did you mean 'code'?)"
    assert error.facts == {"name": "cod"}


def test_of_very_many_words_those_beside_the_unknown_one_are_compared() -> None:
    names = [f"d{number:06}" for number in range(50_000)]
    assert errors.nearest("d012345x", reversed(names)) == "did you mean 'd012345'?"
    assert errors.nearest("d0123456789" * 100_000, names) is None
