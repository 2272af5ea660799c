"""The demo's documents have names that say nothing of the machine that they come from."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

from mixture.cli.demo_text import gather, shown_path


def test_documents_are_named_by_their_paths_below_the_folder_that_all_machines_have_them_in():
    decoder = Path(json.__file__).with_name("decoder.py").resolve()
    assert shown_path(decoder) == f"{Path(sysconfig.get_paths()['stdlib']).name}/json/decoder.py"
    assert shown_path(Path("/usr/share/man/man1/ls.1.gz")) == "man/man1/ls.1.gz"
    assert shown_path(Path("/usr/include/stdio.h")) == "include/stdio.h"
    assert shown_path(Path("/home/somebody/work/of/theirs/README.md")) == "of/theirs/README.md"


def test_no_document_of_the_demo_has_a_path_of_this_machine_as_its_id(tmp_path: Path, capsys):
    kinds = gather(tmp_path)
    printed = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert printed.keys() >= kinds.keys()
    assert len(kinds) > 3
    for name in kinds:
        rows = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text(encoding="ascii").splitlines()]
        size = sum(len(row["text"].encode("utf-8", "surrogatepass")) for row in rows)
        assert printed[name][2:] == [f"{len(rows):,}", "documents", f"{size:,}", "bytes"]
        ids = [row["id"] for row in rows]
        assert not any(identity.startswith("/") for identity in ids)
        assert len(set(ids)) == len(ids), name
