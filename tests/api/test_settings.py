"""Settings: how they are written, what is refused, and that people are told what there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program import run_program

from mixture.api.setting_texts import setting_texts
from mixture.api.settings import Settings, load_settings
from mixture.errors import MixtureError


def test_lists_are_written_as_paths_are_between_commas_or_as_json(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MIXTURE_MIXTURES_DIRS", "/one")
    monkeypatch.setenv("MIXTURE_STORE_DIRS", "/one:/t wo")
    monkeypatch.setenv("MIXTURE_CORS_ORIGINS", "http://a:1, http://b")
    monkeypatch.setenv("MIXTURE_TRUSTED_PROXIES", '["10.0.0.5", "::1"]')
    settings = load_settings()
    assert settings.mixtures_dirs == (Path("/one"),)
    assert settings.store_dirs == (Path("/one"), Path("/t wo"))
    assert settings.cors_origins == ("http://a:1", "http://b")
    assert settings.trusted_proxies == ("10.0.0.5", "::1")
    monkeypatch.setenv("MIXTURE_STORE_DIRS", "")
    assert load_settings().store_dirs == ()


def test_a_list_that_is_no_json_is_refused_with_how_it_is_written(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MIXTURE_STORE_DIRS", "[/one")
    with pytest.raises(MixtureError, match=r"store_dirs.*/one:/two") as refused:
        load_settings()
    assert refused.value.code == "settings-invalid"


def test_a_variable_that_is_like_a_setting_is_refused_and_others_are_let_be(monkeypatch: pytest.MonkeyPatch):
    for name in ("URL", "TOKEN", "SERVICE_HOST", "PORT_8000_TCP_ADDR"):
        monkeypatch.setenv(f"MIXTURE_{name}", "x")
    load_settings()
    monkeypatch.setenv("MIXTURE_STORE_DIR", "/stores")
    with pytest.raises(MixtureError, match=r"MIXTURE_STORE_DIR .did you mean 'MIXTURE_STORE_DIRS'") as refused:
        load_settings()
    assert refused.value.code == "settings-invalid"


def test_all_settings_are_shown_as_they_are_and_passwords_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MIXTURE_DATABASE_URL", "postgresql://ann:secret@db/mixture")
    monkeypatch.setenv("MIXTURE_MAX_ROWS", "17")
    done = run_program("serve", "--show-settings", "--json", cwd=tmp_path)
    shown = {one["variable"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert list(shown) == [f"MIXTURE_{name.upper()}" for name in Settings.model_fields]
    assert shown["MIXTURE_MAX_ROWS"]["value"] == "17"
    assert shown["MIXTURE_MAX_ROWS"]["default"] == "1000000"
    assert shown["MIXTURE_DATABASE_URL"]["value"] == "postgresql://ann:***@db/mixture"
    assert all(one["meaning"] for one in shown.values())
    table = run_program("serve", "--show-settings", cwd=tmp_path).stdout
    assert "secret" not in done.stdout + table
    assert all(name in table for name in shown)
    assert list(tmp_path.iterdir()) == [], "nothing was started"


def test_the_page_of_the_service_lists_the_settings_that_there_are():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `MIXTURE_")]
    assert listed == [
        f"| `{setting.variable}` | {f'`{setting.default}`' if setting.default else ''} | {setting.meaning} |"
        for setting in setting_texts(Settings())
    ]
