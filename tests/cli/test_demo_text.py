"""The demo's documents have names that say nothing of the machine that they come from."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

from mixture.cli.data.demo_text import shown_path

pytestmark = pytest.mark.xdist_group("demo")


def test_documents_are_named_by_their_paths_below_the_folder_that_all_machines_have_them_in():
    decoder = Path(json.__file__).with_name("decoder.py").resolve()
    assert shown_path(decoder) == f"{Path(sysconfig.get_paths()['stdlib']).name}/json/decoder.py"
    assert shown_path(Path("/usr/share/man/man1/ls.1.gz")) == "man/man1/ls.1.gz"
    assert shown_path(Path("/usr/include/stdio.h")) == "include/stdio.h"
    assert shown_path(Path("/home/somebody/work/of/theirs/README.md")) == "of/theirs/README.md"


def test_no_document_of_the_demo_has_a_path_of_this_machine_as_its_id(demo: tuple[Path, str]):
    folder, said = demo
    files = sorted((folder / "demo" / "text").glob("*.jsonl"))
    assert len(files) > 3
    printed = {words[0]: words for line in said.splitlines() if (words := line.split())}
    for path in files:
        rows = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
        size = sum(len(row["text"].encode("utf-8", "surrogatepass")) for row in rows)
        assert printed[path.stem][2:] == [f"{len(rows):,}", "documents", f"{size:,}", "bytes"]
        ids = [row["id"] for row in rows]
        assert not any(identity.startswith("/") for identity in ids)
        assert len(set(ids)) == len(ids), path.stem
