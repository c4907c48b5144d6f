"""What a person installs is whole, and what is in git or in a lock file ties it to no one machine."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import app

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ("requirements.txt", "requirements-test.txt")

# Split, so that this file does not hold what it looks for.
REGISTRIES = (
    "registry.npmjs" + ".org",
    "pypi.org/" + "simple",
    "files.python" + "hosted.org",
    "--index" + "-url",
)
MACHINE_PATH = re.compile(r"(?<![\w.:/*-])/(?:root|home|Users|work)/")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program and give what it printed; what it said on failure is in the test's message."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


# ---------------------------------------------------------------- the wheel and the source archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout, built with the tools of the test environment."""
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, ROOT)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def source_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out)
    (made,) = out.glob("*.tar.gz")
    return made


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def tracked(*patterns: str) -> list[str]:
    """Give the paths git tracks; a copy without history has nothing to say about what is committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not run: this copy has no git history")
    return [path for path in run("git", "ls-files", "-z", *patterns).split("\0") if path]


@pytest.mark.parametrize("folder", ["templates", "static", "migrations"])
def test_the_wheel_carries_what_is_not_python_inside_the_package(wheel: Path, folder: str) -> None:
    committed = {f"app/{path}" for path in tracked(folder)}
    assert committed, f"nothing is committed under {folder}"
    assert committed <= contents(wheel)


def test_the_wheel_carries_the_code_and_its_data(wheel: Path) -> None:
    committed = set(tracked("app", "scrapers"))
    assert {"app/cli.py", "app/domain/data/accelerators.csv", "app/domain/data/aliases.csv"} <= committed
    assert committed <= contents(wheel)


def test_the_wheel_carries_the_browser_files_its_manifest_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = json.loads(archive.read("app/static/vendor/manifest.json"))["files"]
        for entry in files.values():
            assert archive.getinfo(f"app/static/vendor/{entry['file']}").file_size == entry["size_bytes"]
            assert archive.getinfo(f"app/static/vendor/{entry['file']}.br").file_size == entry["br_bytes"]
    assert sorted(files) == ["htmx.js", "pico.css", "plotly.js"]


def test_the_wheel_carries_nothing_else(wheel: Path) -> None:
    allowed = re.compile(rf"(app|scrapers)/|inferprice-{re.escape(app.__version__)}\.dist-info/")
    assert [name for name in contents(wheel) if not allowed.match(name)] == []
    assert [name for name in contents(wheel) if "__pycache__" in name or name.endswith(".db")] == []


def test_an_installed_wheel_finds_its_folders_far_from_any_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel)
    program = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from app.paths import migrations_dir, static_dir, templates_dir\n"
        "print(templates_dir(), static_dir(), migrations_dir(), sep='\\n')"
    )
    found = run(sys.executable, "-I", "-c", program, cwd=tmp_path).splitlines()
    assert found == [str(site / "app" / name) for name in ("templates", "static", "migrations")]


def test_the_source_archive_can_build_and_has_nothing_built(source_archive: Path) -> None:
    with tarfile.open(source_archive) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"hatch_build.py", "package.json", "package-lock.json", ".npmrc", "LICENSE", "README.md"} <= names
    assert [
        name for name in names if "vendor/" in name or name.startswith((".venv", ".git/", "node_modules"))
    ] == []


# ---------------------------------------------------------------- the lock files


def pins(lock: str) -> Iterator[tuple[Requirement, int]]:
    """Give each pinned requirement of a lock file with its number of hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    for block in re.findall(r"^(?=[a-z])(?:.*\\\n)*.*$", text, flags=re.MULTILINE):
        yield (
            Requirement(block.partition("\\")[0].partition("--hash")[0].strip()),
            block.count("--hash=sha256:"),
        )


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_one_exact_version_with_hashes(lock: str) -> None:
    read = list(pins(lock))
    assert len(read) > 30
    assert [str(one) for one, hashes in read if not str(one.specifier).startswith("==") or not hashes] == []


@pytest.mark.parametrize("lock", [*LOCKS, "package-lock.json", "package.json", ".npmrc"])
def test_no_lock_says_where_a_package_was_fetched(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*(--(extra-)?index|--find-links|registry\s*=)", text, flags=re.MULTILINE)


def test_every_npm_package_is_held_to_a_sha512() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    third_party = {name: entry for name, entry in packages.items() if name}
    assert third_party
    assert [name for name, entry in third_party.items() if not entry["integrity"].startswith("sha512-")] == []


def test_the_test_environment_has_the_runtime_pins() -> None:
    runtime, testing = ({f"{one.name}{one.specifier}" for one, _ in pins(lock)} for lock in LOCKS)
    assert runtime <= testing


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.txt", PROJECT["dependencies"]),
        ("requirements-test.txt", PROJECT["optional-dependencies"]["test"]),
    ],
    ids=LOCKS,
)
def test_the_lock_satisfies_pyproject(lock: str, wanted: list[str]) -> None:
    versions = {one.name: next(iter(one.specifier)).version for one, _ in pins(lock)}
    unmet = [
        one for one in map(Requirement, wanted) if not one.specifier.contains(versions.get(one.name, "0"))
    ]
    assert unmet == [], "run make lock"


# ---------------------------------------------------------------- what git tracks


def test_nothing_committed_names_a_registry_or_a_folder_of_one_machine() -> None:
    found = []
    for path in tracked():
        text = (ROOT / path).read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path}: {address}" for address in REGISTRIES if address in text]
        found += [f"{path}: {hit.group()}" for hit in MACHINE_PATH.finditer(text)]
    assert [line for line in found if not line.startswith("tests/test_packaging.py: /")] == []


def test_nothing_built_is_committed() -> None:
    built = re.compile(r"(^|/)(vendor|node_modules|__pycache__|\.venv|dist|build)/|\.(pyc|db|whl)$")
    assert [path for path in tracked() if built.search(path)] == []


def test_the_version_is_written_once() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
