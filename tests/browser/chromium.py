"""Finds a Chromium to test with: one that is named, one on the machine, or Playwright's own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Playwright

VARIABLE = "INFERPRICE_TEST_CHROMIUM"
USUAL = Path("/usr/bin/chromium")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
INSTALL = (sys.executable, "-m", "playwright", "install", "chromium-headless-shell")
INSTALL_TIMEOUT_S = 300
NONE_HERE = (
    "NO BROWSER TEST WAS RUN: there is no Chromium here. Install one (Debian: apt-get install chromium), "
    f"name one with {VARIABLE}, or run: python -m playwright install chromium-headless-shell"
)


def installed(playwright: Playwright) -> Path | None:
    """Return the Chromium to use, None when there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if USUAL.exists():
        return USUAL
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    return own(playwright)


def own(playwright: Playwright) -> Path | None:
    """Return the Chromium that Playwright installed for itself, whole or without a window."""
    whole = Path(playwright.chromium.executable_path)
    if whole.exists():
        return whole
    folders = whole.parents[2].glob("chromium_headless_shell-*/*/*headless*shell*")
    return next((path for path in sorted(folders, reverse=True) if os.access(path, os.X_OK)), None)


def install() -> None:
    """Try once to get Playwright's own; a failure shows as still having none."""
    subprocess.run(INSTALL, check=False, timeout=INSTALL_TIMEOUT_S, stdout=sys.stderr)


def find(playwright: Playwright) -> Path | None:
    """Return the Chromium to use, getting one where that is wanted: not in CI, which installs its own."""
    found = installed(playwright)
    if found is None and not os.environ.get("CI"):
        install()
        found = own(playwright)
    return found
