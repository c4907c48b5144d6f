"""The build hook copies what the lock file names, skips what is current, and fails in a sentence."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path

import brotli
import pytest

import hatch_build
from hatch_build import FOR_PAGES, VendorError, build_vendor, find_npm, stale_targets

ROOT = Path(__file__).parent.parent
HTMX = b"var htmx = 'a stand-in for the real file'\n"

# Stands for npm: `npm --version`, and an `npm ci` that puts the four packages where the real one would.
NPM = """#!/bin/sh
if [ "$1" = --version ]; then echo {version}; exit 0; fi
echo "$@" >> {calls}
{fail}
cp -R {modules} node_modules
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with just what the hook reads."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ("package.json", "package-lock.json", ".npmrc", "hatch_build.py"):
        shutil.copy(ROOT / name, root)
    return root


def put_npm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, version: str = "11.0.0", fail: str = ""
) -> Path:
    """Put a stand-in npm first on PATH; gives the file that lists how it was called."""
    modules = folder / "modules"
    for source in (*FOR_PAGES, *hatch_build.FOR_TESTS):
        path = modules / source.package / source.path
        path.parent.mkdir(parents=True)
        path.write_bytes(HTMX if source.name == "htmx.js" else source.name.encode())
        (modules / source.package / "package.json").write_text('{"version": "1.2.3", "license": "MIT"}')
    calls = folder / "calls"
    npm = folder / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM.format(version=version, calls=calls, fail=fail, modules=modules))
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    return calls


def test_a_file_carries_its_hash_in_its_name_and_has_compressed_siblings(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(tmp_path, monkeypatch)
    build_vendor(checkout, "standard")
    vendor = checkout / "static" / "vendor"
    htmx = json.loads((vendor / "manifest.json").read_text())["files"]["htmx.js"]
    assert htmx["file"] == f"htmx.{hashlib.sha256(HTMX).hexdigest()[:12]}.js"
    assert (htmx["package"], htmx["version"], htmx["license"]) == ("htmx.org", "1.2.3", "MIT")
    assert htmx["size_bytes"] == len(HTMX)
    assert brotli.decompress((vendor / (htmx["file"] + ".br")).read_bytes()) == HTMX
    assert gzip.decompress((vendor / (htmx["file"] + ".gz")).read_bytes()) == HTMX


def test_only_an_editable_install_gets_what_only_tests_need(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(tmp_path, monkeypatch)
    build_vendor(checkout, "standard")
    assert not (checkout / "tests").exists()
    build_vendor(checkout, "editable")
    assert "axe.js" in json.loads((checkout / "tests" / "vendor" / "manifest.json").read_text())["files"]


def test_what_is_current_is_not_built_again_and_nothing_is_left_behind(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = put_npm(tmp_path, monkeypatch)
    build_vendor(checkout, "standard")
    build_vendor(checkout, "standard")
    assert calls.read_text().splitlines() == ["ci --ignore-scripts --no-audit --no-fund"]
    assert not (checkout / "node_modules").exists()


def test_a_changed_lock_file_builds_again_and_drops_the_old_files(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = put_npm(tmp_path, monkeypatch)
    build_vendor(checkout, "standard")
    (checkout / "static" / "vendor" / "htmx.000000000000.js").write_bytes(b"of an older lock file")
    with (checkout / "package-lock.json").open("a") as lock:
        lock.write("\n")
    build_vendor(checkout, "standard")
    assert len(calls.read_text().splitlines()) == 2
    assert len(list((checkout / "static" / "vendor").glob("htmx.*.js"))) == 1


@pytest.mark.parametrize("damage", ["cut short", "gone", "no manifest", "not JSON"])
def test_a_damaged_folder_is_not_current(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    put_npm(tmp_path, monkeypatch)
    build_vendor(checkout, "standard")
    vendor = checkout / "static" / "vendor"
    match damage:
        case "cut short":
            next(vendor.glob("htmx.*.js")).write_bytes(b"var")
        case "gone":
            next(vendor.glob("pico.*.css")).unlink()
        case "no manifest":
            (vendor / "manifest.json").unlink()
        case _:
            (vendor / "manifest.json").write_text("[]")
    assert [folder for folder, _ in stale_targets(checkout, "standard")] == [vendor]


def test_a_failing_npm_is_told_in_a_sentence_with_its_own_words(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(tmp_path, monkeypatch, fail="echo 'npm error code ENOTFOUND' >&2; exit 1")
    with pytest.raises(VendorError, match=r"(?s)check the network.*ENOTFOUND"):
        build_vendor(checkout, "standard")
    assert not (checkout / "static" / "vendor" / "manifest.json").exists()


@pytest.mark.parametrize("version", ["6.14.18", "not a version"])
def test_an_npm_that_cannot_read_our_lock_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    put_npm(tmp_path, monkeypatch, version=version)
    assert find_npm() is None


def test_without_npm_the_build_asks_for_node_from_the_package_index(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asks_for(checkout) == [hatch_build.NODE_FROM_PYPI]


def test_with_npm_it_asks_for_nothing(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(tmp_path, monkeypatch)
    assert asks_for(checkout) == []


def asks_for(root: Path) -> list[str]:
    """Give what the hook adds to the build environment."""
    hook = hatch_build.VendorHook(str(root), {}, None, None, str(root / "dist"), "wheel")  # type: ignore[arg-type] - it reads the root alone
    return hook.dependencies()


def test_the_files_of_this_checkout_are_the_published_ones() -> None:
    """Sizes in bytes as published on npm, measured on 2026-11-29 apart from this code."""
    files = json.loads((ROOT / "static" / "vendor" / "manifest.json").read_text())["files"]
    sizes_bytes = {name: (entry["version"], entry["size_bytes"]) for name, entry in files.items()}
    assert sizes_bytes["htmx.js"] == ("4.0.1", 37_448)
    assert sizes_bytes["plotly.js"] == ("4.1.1", 1_191_749)
    assert files["plotly.js"]["br_bytes"] < 340_000
