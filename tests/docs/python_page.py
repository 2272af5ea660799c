"""The page of Python's names, made from the table in `mixture`: `python tests/docs/python_page.py` writes it."""

from __future__ import annotations

from pathlib import Path

import mixture

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TITLES = {
    "mixture.planning.spec": "Plan a run",
    "mixture.data.ingest": "Prepare text",
    "mixture.stream": "Read it",
    "mixture.formats": "Other trainers' files",
    "mixture.errors": "Errors",
}
"""Headings, before the first package below each."""
HEAD = """# Python

Everything below is imported from `mixture` itself, and `help(mixture.open_stream)` has arguments, shapes, units and
errors. What few need is in the packages of the last column; `mixture.adapters.torch`, `.datasets` and `.grain` feed
trainers ([loaders](loaders.md)), `mixture.client` reads from a service and reports runs ([service](service.md)), and
`mixture.testing` checks that a stream resumes exactly and that ranks share every step.
"""


def text() -> str:
    """The page, Markdown: a table for each heading, a name a row with the first paragraph of its docstring."""
    lines = [HEAD]
    for home, names in mixture.NAMES.items():
        if home in TITLES:
            lines += ["" if len(lines) > 1 else None, f"## {TITLES[home]}", "", "| name | | from |", "|---|---|---|"]
        for name in names:
            described = " ".join((getattr(mixture, name).__doc__ or "").strip().split("\n\n")[0].split())
            lines.append(f"| `{name}` | {described} | `{home}` |")
    return "\n".join(line for line in lines if line is not None) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE)
