"""Where the browser of these tests comes from."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser import chromium


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine without any Chromium: stands for Playwright, whose own is not there either."""
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(chromium, "USUAL", tmp_path / "usr" / "chromium")
    own = tmp_path / "own" / "chromium-1" / "linux" / "chrome"
    return SimpleNamespace(chromium=SimpleNamespace(executable_path=str(own)))


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_they_are_looked_for_in_order(bare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chromium.installed(bare) is None
    shell = put(tmp_path / "own" / "chromium_headless_shell-1" / "linux" / "headless_shell")
    assert chromium.installed(bare) == shell
    whole = put(Path(bare.chromium.executable_path))
    assert chromium.installed(bare) == whole
    on_path = put(tmp_path / "bin" / "google-chrome")
    assert chromium.installed(bare) == on_path
    usual = put(tmp_path / "usr" / "chromium")
    assert chromium.installed(bare) == usual
    monkeypatch.setenv(chromium.VARIABLE, "named")
    assert chromium.installed(bare) == Path("named")


def test_one_is_fetched_once_but_not_in_ci(
    bare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = tmp_path / "own" / "chromium_headless_shell-1" / "linux" / "headless_shell"
    asked = []

    def install() -> None:
        asked.append(os.environ.get("CI"))
        put(shell)

    monkeypatch.setattr(chromium, "install", install)
    monkeypatch.setenv("CI", "true")
    assert chromium.find(bare) is None
    monkeypatch.delenv("CI")
    assert chromium.find(bare) == shell
    assert chromium.find(bare) == shell
    assert asked == [None]
