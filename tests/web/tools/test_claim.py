"""The tool on claims against published figures: what they imply, and which do not follow."""

import csv
import io
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.serving.documents import follows_document, speedup_document
from app.web.exports import json_bytes
from app.web.tools.claim import TOOL, find
from app.web.tools.fields import read_typed

PATH = "/tools/claim"
SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"
SPEEDUP = {"saved_ms": "0.109", "gain_percent": "75"}
FIGURE = {"before": "613", "after": "972", "stated": "46.8"}


def page(tools: TestClient, **typed: str) -> LexborHTMLParser:
    answer = tools.get(f"{PATH}?{urlencode(typed)}")
    assert answer.status_code == 200
    return LexborHTMLParser(answer.text)


def lines(tree: LexborHTMLParser, section: str) -> list[str]:
    found = [each.text() for each in tree.css(f'section[aria-labelledby="{section}"] li.formula')]
    return [each.replace("\N{MULTIPLICATION SIGN}", "x").replace("\N{MINUS SIGN}", "-") for each in found]


def test_75_percent_of_0_109_ms_is_worked_out_in_both_directions(tools: TestClient) -> None:
    """0.109 x 1.75 / 0.75 = 0.254333; 1000 / 0.254333 = 3931.8; 0.109 / 0.75 = 0.145333, 6880.7 a second."""
    tree = page(tools, **SPEEDUP)
    assert tree.css_first("#found .verdict").text() == (
        "+75 % from 0.109 ms saved means a 0.254 ms step, about 3,900 tokens/s on one stream, "
        "and a 0.145 ms step after, about 6,900."
    )
    assert lines(tree, "implies") == [
        "old step = saved x (1 + gain) / gain = 0.109 x 1.75 / 0.75 = 0.25433 ms",
        "new step = old step - saved = 0.25433 - 0.109 = 0.14533 ms",
        "tokens/s before = 1000 / step = 1000 / 0.25433 = 3,932, about 3,900",
        "tokens/s after = 1000 / step = 1000 / 0.14533 = 6,881, about 6,900",
        "And back: saved = old step - new step = 0.25433 - 0.14533 = 0.109 ms",
        "And back: gain = old step / new step - 1 = 0.25433 / 0.14533 - 1 = +75 %",
    ]
    assert tree.css_first("section[aria-labelledby=follows]") is None


def test_the_reverse_is_shown_on_longer_steps(tools: TestClient) -> None:
    """Of 20 ms, 0.109 saved gain 20 / 19.891 - 1 = 0.548 %; 75 % there need 20 x 0.75 / 1.75 = 8.571 ms."""
    cells = {
        row.css_first("th").text(): [cell.text() for cell in row.css("td")]
        for row in page(tools, **SPEEDUP).css("#found tbody tr")
    }
    assert cells["20"] == ["+0.548", "8.57"]
    assert cells["1"] == ["+12.2", "0.429"]
    assert page(tools, saved_ms="5", old_step_ms="20").css("#found tbody td")[0].text() == "no step is left"


@pytest.mark.parametrize(
    ("typed", "heading", "verdict"),
    [
        (FIGURE, "The figure does not follow: inconsistent", "972 over 613 is +58.6 % (58.354 to 58.776"),
        (
            {"before": "1.23", "after": "4.65", "stated": "4.8", "as": "times"},
            "The figure does not follow: inconsistent",
            "4.65 over 1.23 is 3.78 times (3.7611 to 3.8",
        ),
        ({**FIGURE, "stated": "58.6"}, "The figure follows", "972 over 613 is +58.6 %"),
        (
            {"before": "648,858", "after": "665,573", "stated": "16,715", "as": "difference"},
            "The figure follows",
            "665573 less 648858 is 16,715",
        ),
        (
            {"before": "63", "after": "55.5", "stated": "88", "as": "share"},
            "The figure follows",
            "55.5 of 63 is 88.1 %",
        ),
    ],
)
def test_published_figures_that_follow_and_do_not(
    tools: TestClient, typed: dict[str, str], heading: str, verdict: str
) -> None:
    """972 / 613 = 1.58564, 971.5 / 613.5 = 1.58354, 972.5 / 612.5 = 1.58776; 4.645 / 1.235 = 3.76113."""
    tree = page(tools, **typed)
    assert tree.css_first("#follows").text() == heading
    said = tree.css_first("#found .verdict").text()
    assert said.startswith(verdict)
    assert said.endswith("inconsistent." if "not" in heading else "follows from them.")


def test_figures_are_taken_as_they_are_printed(tools: TestClient) -> None:
    """0.109 ms is 109 us; the rest as in the tests above, which have no units."""
    for saved in ("0.109 ms", "109 us", "109 \N{MICRO SIGN}s", "0.000109 s"):
        tree = page(tools, saved_ms=saved, gain_percent="+75 %")
        assert (
            tree.css_first("#found .verdict").text().startswith("+75 % from 0.109 ms saved means a 0.254 ms")
        )
    # A keyboard of digits alone could type neither the sign nor the unit.
    assert [each.attributes["id"] for each in tree.css("[inputmode]")] == ["streams"]
    tree = page(tools, before="613 tok/s", after="972 tok/s", stated="+46.8 %")
    assert tree.css_first("#follows").text() == "The figure does not follow: inconsistent"
    tree = page(tools, before="1.23 s", after="4.65 s", stated="4.8x", **{"as": "times"})
    assert tree.css_first("#found .verdict").text().startswith("4.65 over 1.23 is 3.78 times")
    assert tree.css_first("pre.command").text() == (
        "inferprice check claim figure --before '1.23 s' --after '4.65 s' --stated 4.8x --as times"
    )


def test_a_saving_follows_but_for_its_sign_and_says_so(tools: TestClient) -> None:
    typed = {"before": "170.6", "after": "61.9", "stated": "108.7", "as": "difference"}
    tree = page(tools, **typed)
    assert tree.css_first("#follows").text() == "The figure follows but for its sign"
    assert "the stated 108.7 agrees but for its sign" in tree.css_first("#found .verdict").text()
    figure = tools.get(f"{PATH}.json?{urlencode(typed)}").json()["found"]["figure"]
    assert (figure["agrees"], figure["but_for_sign"]) == (True, True)
    strict = page(tools, **{**typed, "stated": "+108.7"})
    assert strict.css_first("#follows").text() == "The figure does not follow: inconsistent"


def test_the_rounding_is_shown_and_what_the_figure_would_need(tools: TestClient) -> None:
    """613 x 1.468 = 899.884, and 972 / 1.468 = 662.125."""
    assert lines(page(tools, **FIGURE), "follows") == [
        "(after / before - 1) x 100 = (972 / 613 - 1) x 100 = 58.564 %",
        "before may be 612.5 to 613.5, after 971.5 to 972.5",
        "at least (971.5 / 613.5 - 1) x 100 = 58.354 %",
        "at most (972.5 / 612.5 - 1) x 100 = 58.776 %",
        "stated 46.8 % may be 46.75 to 46.85 %: the two ranges do not meet",
        "And back: 46.8 % from 613 would lead to 899.88",
        "And back: 46.8 % to 972 would start from 662.13",
    ]


def test_both_groups_may_be_filled_and_their_twins_are_the_commands_documents(tools: TestClient) -> None:
    typed = {**SPEEDUP, "streams": "8", **FIGURE}
    found = find(read_typed(TOOL.fields, list(typed.items())), {})
    assert found is not None
    assert found.speedup is not None
    assert found.figure is not None
    answer = tools.get(f"{PATH}.json?{urlencode(typed)}")
    expected = {"speedup": speedup_document(found.speedup), "figure": follows_document(found.figure)}
    assert json_bytes(answer.json()["found"]) == json_bytes(expected)
    table = csv.DictReader(io.StringIO(tools.get(f"{PATH}.csv?{urlencode(typed)}").text))
    rows = {(row["check"], row["quantity"]): row for row in table}
    assert float(rows["speedup", "old_step_ms"]["value"]) == pytest.approx(0.109 * 1.75 / 0.75)
    # Eight streams at 3931.85 tokens/s.
    assert float(rows["speedup", "old_tokens_per_s"]["value"]) == pytest.approx(31454.8, abs=0.1)
    assert (rows["figure", "agrees"]["value"], rows["figure", "stated"]["unit"]) == ("false", "%")
    tree = page(tools, **typed)
    assert len(tree.css("#found section")) == 2
    assert tree.css_first("pre.command").text().splitlines() == [
        "inferprice check claim speedup --saved-ms 0.109 --gain-percent 75 --streams 8",
        "inferprice check claim figure --before 613 --after 972 --stated 46.8 --as percent",
    ]


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"saved_ms": "0.109"}, "gain_percent"),
        ({"gain_percent": "75"}, "saved_ms"),
        ({"streams": "8"}, "saved_ms"),
        ({"saved_ms": "1", "gain_percent": "75", "new_step_ms": "3"}, "new_step_ms"),
        ({"saved_ms": "20", "old_step_ms": "20"}, "saved_ms"),
        ({"saved_ms": "1", "gain_percent": "-75"}, "gain_percent"),
        ({"saved_ms": "a lot", "gain_percent": "75"}, "saved_ms"),
        ({"old_step_ms": "0", "gain_percent": "75"}, "old_step_ms"),
        ({**SPEEDUP, "streams": "0"}, "streams"),
        ({"before": "613", "after": "972"}, "stated"),
        ({"stated": "46.8"}, "before"),
        ({**FIGURE, "before": "0"}, "before"),
        ({**FIGURE, "after": "-972"}, "after"),
        ({**FIGURE, "stated": "46.8x"}, "stated"),
        ({**FIGURE, "stated": "46.8 ms"}, "stated"),
        ({**FIGURE, "stated": "46.8 % more"}, "stated"),
        ({**FIGURE, "before": "613 tok/s", "after": "972 ms"}, "after"),
        ({"saved_ms": "0.109 tok/s", "gain_percent": "75"}, "saved_ms"),
        ({"saved_ms": "0.109 ms", "gain_percent": "1.75x"}, "gain_percent"),
        ({"old_step_ms": "NaN ms", "gain_percent": "75"}, "old_step_ms"),
        ({**SPEEDUP, "before": "613"}, "after"),
    ],
)
def test_a_wrong_field_is_marked_and_nothing_is_lost(
    tools: TestClient, typed: dict[str, str], wrong: str
) -> None:
    answer = tools.get(f"{PATH}?{urlencode(typed)}")
    assert answer.status_code == 422
    tree = LexborHTMLParser(answer.text)
    assert [each.attributes["id"] for each in tree.css("[aria-invalid]")] == [wrong]
    for name, value in typed.items():
        assert tree.css_first(f"#{name}").attributes["value"] == value
    problem = tools.get(f"{PATH}.json?{urlencode(typed)}")
    assert (problem.status_code, problem.json()["field"]) == (422, wrong)


def test_a_command_quotes_what_a_terminal_would_run(tools: TestClient) -> None:
    answer = tools.get(f"{PATH}?{urlencode({'saved_ms': '$(reboot) <b>', 'gain_percent': '1'})}")
    command = LexborHTMLParser(answer.text).css_first("pre.command").text()
    assert command == "inferprice check claim speedup --saved-ms '$(reboot) <b>' --gain-percent 1"
    assert "<b>'" not in answer.text


@pytest.mark.skipif(not SEEDS.is_dir(), reason="not run: ../shared is not here")
def test_the_examples_stand_in_the_articles() -> None:
    articles = "\n".join(path.read_text(encoding="utf-8") for path in SEEDS.glob("*.txt"))
    for words in ("0.109 ms saving becomes +75%", "from 613 to 972 tok/s (+46.8 %)", "1.23 seconds to 4.65"):
        assert words in articles
    labels = [example.label for example in TOOL.examples]
    assert len(labels) == 4
