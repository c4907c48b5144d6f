"""The documents keep up with the code: versions, links, paths and commands they name."""

import re
from pathlib import Path

import pytest

import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
# https://keepachangelog.com/en/1.1.0/
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_newest_release_in_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == app.__version__


def test_changelog_releases_are_in_order_under_the_usual_headings() -> None:
    text = read("CHANGELOG.md")
    releases = [
        tuple(map(int, one.split("."))) for one in re.findall(r"^## \[([\d.]+)\]", text, flags=re.MULTILINE)
    ]
    assert releases == sorted(releases, reverse=True)
    assert set(re.findall(r"^### (.+)$", text, flags=re.MULTILINE)) <= KINDS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_relative_link_leads_somewhere(name: str) -> None:
    targets = re.findall(r"\]\((?!https?://|mailto:|#)([^)#\s]+)", read(name))
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_make_command_exists(name: str) -> None:
    named = set(re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", read(name), flags=re.MULTILINE))
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, flags=re.MULTILINE))
    assert named <= targets


def test_every_make_command_says_what_it_does() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, flags=re.MULTILINE)
    told = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, flags=re.MULTILINE))
    assert told == set(phony.split())


def test_every_place_on_the_map_is_there() -> None:
    the_map = read("CONTRIBUTING.md").partition("## Where things are")[2].partition("## To add")[0]
    places = re.findall(r"`([\w./-]+)`", the_map)
    assert len(places) > 10
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_punctuation_is_plain(name: str) -> None:
    assert re.findall(r"[\u2012-\u2015\u2018-\u201f\u2026]", read(name)) == []
