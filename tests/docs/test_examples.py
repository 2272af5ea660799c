"""Every example of docs/ is run, and says what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.toys import Example, examples

PAGES = ("spec.md", "findings.md")


@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=f"{page}-{i}-{one.heading}") for page in PAGES for i, one in enumerate(examples(page))],
)
def test_an_example_says_what_the_page_shows(example: Example, tmp_path: Path) -> None:
    example.run(tmp_path)
