"""Formats of other packages: found by their entry points, loaded when used, refused by name where they fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
from mixture.errors import FormatError
from mixture.formats import FORMATS
from mixture.formats import format_of

def code(name):
    try:
        return format_of(name).title
    except FormatError as error:
        return [error.code, error.message]

names = [name for name in FORMATS]
loaded = "ours" in sys.modules
codes = {name: code(name) for name in names}
print(json.dumps({"names": names, "count": len(FORMATS), "loaded": loaded, "codes": codes}))
"""
MODULE = """
from mixture.formats import Bodies, MixtureFormat, WeightUnit
GOOD = MixtureFormat("good", "of ours", (WeightUnit.TOKENS,), frozenset(), "By share.", None, lambda run: Bodies(()))
"""
POINTS = """
[mixture.formats]
good = ours:GOOD
other-name = ours:GOOD
text = ours:MODULE_NAME
broken = ours_broken:GOOD
levanter = ours:GOOD
"""


def test_packages_formats_stand_after_the_librarys_own_and_are_loaded_when_used(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(f"{MODULE}MODULE_NAME = 'ours'\n", encoding="utf-8")
    (tmp_path / "ours_broken.py").write_text("raise RuntimeError('no GPU')\n", encoding="utf-8")
    (tmp_path / "ours-1.dist-info").mkdir()
    (tmp_path / "ours-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1\n", "utf-8")
    (tmp_path / "ours-1.dist-info" / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert said["names"][0] == "levanter"
    assert said["names"][-4:] == ["broken", "good", "other-name", "text"]
    assert said["count"] == len(said["names"]) == len(set(said["names"]))
    assert not said["loaded"]
    codes = said["codes"]
    assert codes["good"] == "of ours"
    assert codes["megatron"].startswith("Megatron-LM")
    assert codes["broken"] == [
        "format-not-loaded", "the format 'broken' of the package ours cannot be loaded: RuntimeError('no GPU')"
    ]  # fmt: skip
    assert [codes[name][0] for name in ("other-name", "text")] == ["format-not-loaded"] * 2
    assert codes["levanter"] == [
        "format-name-taken", "the format name 'levanter' is taken by the library itself and by the package ours"
    ]  # fmt: skip
