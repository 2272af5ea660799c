"""What is said of a catalog beside its table: where it is damaged, it is left out, and the log says so."""

from __future__ import annotations

import json
import logging
import shutil

from api_helpers import MIXTURES

from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.overviews import overview_of
from mixture.api.registry.stores import Stores


def test_a_damaged_overview_is_left_out_and_told_once_until_it_is_damaged_otherwise(tmp_path, caplog):
    folder = tmp_path / "olmo-3-7b"
    shutil.copytree(MIXTURES / folder.name, folder)
    path = folder / "overview.json"
    good = json.loads(path.read_text(encoding="utf-8"))
    mixture = BuiltinMixtures([folder], [], Stores([])).all()[folder.name]
    assert overview_of(mixture) is not None
    for feature in ("a\ud800", 3):
        quality = {"features": [{"name": feature, "weight": 1}]}
        path.write_text(json.dumps(good | {"quality": quality}), encoding="utf-8")
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="mixture.service"):
            assert [overview_of(mixture) for _ in range(3)] == [None] * 3
        (message,) = [record.getMessage() for record in caplog.records]
        assert message.startswith(f"the overview of {folder.name} is left out: {path}:"), message
    path.write_text(json.dumps(good), encoding="utf-8")
    assert overview_of(mixture) is not None
