"""Colours of the charts: seen on light and on dark, told apart by the colour-blind, and never alone."""

import re
from itertools import combinations

import pytest

from app.paths import static_dir
from app.web.charts import COLOURS, INK, PATTERNS, SYMBOLS, bars_figure, styles
from tests.web.colour_science import SEEN_BY, ciede2000, contrast, lab

LEAST_CONTRAST = 3
"""WCAG 2.2, 1.4.11: of graphics that are needed to understand."""

LEAST_DIFFERENCE = 10
"""Of two colours in CIEDE2000: ten times what an eye just notices side by side."""


def schemes() -> dict[str, dict[str, str]]:
    """Return the ink and the ground that the style sheet names for light and for dark, light first."""
    sheet = (static_dir() / "site.css").read_text(encoding="utf-8")
    found = [re.findall(rf"--{name}: *(#[0-9a-f]+)", sheet)[:2] for name in ("ink", "ground")]
    whole = [
        [each if len(each) == 7 else "#" + "".join(c * 2 for c in each[1:]) for each in two] for two in found
    ]
    return {
        scheme: {"ink": ink, "ground": ground}
        for scheme, ink, ground in zip(("light", "dark"), *whole, strict=True)
    }


def palette(scheme: str) -> list[str]:
    """Return the colours as the browser draws them: the ink is the scheme's own."""
    return [schemes()[scheme]["ink"] if each == INK else each for each in COLOURS]


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (58, 24, 15), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_its_authors(
    one: tuple[float, float, float], other: tuple[float, float, float], wanted: float
) -> None:
    """Pairs of the table in Sharma, Wu, Dalal (2005)."""
    assert round(ciede2000(one, other), 4) == wanted
    assert round(ciede2000(other, one), 4) == wanted


def test_the_eyes_leave_greys_alone_and_confuse_what_is_known_to_be_confused() -> None:
    for eye in SEEN_BY.values():
        assert [round(sum(row), 4) for row in eye] == [1, 1, 1]
    red_and_green = ("#b35900", "#717100")  # an orange and an olive on a line of confusion of both
    far, *near = (
        ciede2000(*(lab(each, SEEN_BY[name]) for each in red_and_green))
        for name in ("everybody else", "protanopia", "deuteranopia")
    )
    assert far > 3 * max(near)
    assert round(contrast("#000000", "#ffffff"), 3) == 21


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_line_is_seen_on_its_ground(scheme: str) -> None:
    ground = schemes()[scheme]["ground"]
    assert (contrast(ground, "#ffffff") < 2) == (scheme == "light")
    found = {each: contrast(each, ground) for each in palette(scheme)}
    assert not {each: found[each] for each in found if found[each] < LEAST_CONTRAST}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("eye", SEEN_BY)
def test_any_two_colours_are_told_apart(eye: str, scheme: str) -> None:
    found = {
        (one, other): ciede2000(lab(one, SEEN_BY[eye]), lab(other, SEEN_BY[eye]))
        for one, other in combinations(palette(scheme), 2)
    }
    assert not {pair: found[pair] for pair in found if found[pair] < LEAST_DIFFERENCE}


def test_no_colour_stands_alone() -> None:
    """Series of one colour differ in symbol, those of one symbol in colour; each bar has its pattern."""
    found = styles(len(COLOURS) * len(SYMBOLS))
    assert len({(colour, symbol) for colour, symbol, _ in found}) == len(found)
    for one, other in combinations(styles(len(COLOURS)), 2):
        assert one[0] != other[0]
        assert one[1] != other[1]
    assert len(set(PATTERNS)) == len(PATTERNS) == len(COLOURS)
    cards = {f"card {number}": {"acme": 1.0} for number in range(len(COLOURS))}
    markers = [each["marker"] for each in bars_figure(cards, ["acme"], unit="$")["data"]]
    assert len({marker["color"] for marker in markers}) == len(COLOURS)
    assert len({marker["pattern"]["shape"] for marker in markers}) == len(COLOURS)
