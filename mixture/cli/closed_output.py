"""A program whose output nobody reads any more, as after `| head`: it ends quietly, and refuses nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup


def closed_output() -> SystemExit:
    """The end of a program whose output nobody reads any more: what a shell sees of tools that SIGPIPE ends."""
    # Point it at nothing, so that the interpreter's last flush is silent.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return SystemExit(128 + signal.SIGPIPE)


class Commands(TyperGroup):
    """All commands. The parser would take a broken pipe for a refusal: it must not see one."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 as the parser has it
        with _quiet_when_closed():
            return super().make_context(*arguments, **options)

    def invoke(self, *arguments: Any) -> Any:  # noqa: ANN401 as the parser has it
        with _quiet_when_closed():
            return super().invoke(*arguments)


@contextmanager
def _quiet_when_closed() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise closed_output() from error
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # rich leaves the program with 1 where it meets one
            raise closed_output() from left
        raise
