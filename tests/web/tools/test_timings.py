"""The tool on timings: verdicts, traps with what to do, and a link that holds no more than is read."""

import csv
import io
import json
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from app.domain.query import QueryError
from app.domain.serving.documents import paired_document
from app.domain.serving.timings import Comparison
from app.domain.serving.traps import lines_that_matter
from app.web.exports import json_bytes
from app.web.tools.fields import pairs_of, read_typed
from app.web.tools.timings import MOST_SHOWN, TOOL, Found, find, kept
from tests.domain.serving import results

PATH = "/tools/timings"
STEADY = "100\n101\n99\n100"
FASTER = "150\n151\n152\n150"
LOG = """INFO 11-01 args: {'api_key': ['sk-very-secret'], 'mamba_cache_mode': 'all', \
'disable_log_stats': True, 'hf_overrides': {}}
INFO 11-01 user alice asked: what is love
INFO 11-01 Engine 000: Running: 8 reqs, Waiting: 0 reqs
INFO 11-01 Engine 000: Running: 32 reqs, Waiting: 21 reqs, GPU KV cache usage: 3.1%
WARNING 11-01 mamba_cache_mode='all' is not supported with api_key=abc123, falling back to 'align'
"""


def found(**typed: str) -> Found:
    answer = find(read_typed(TOOL.fields, list(typed.items())), {})
    assert answer is not None
    return answer


def comparison(**typed: str) -> Comparison:
    (pair,) = found(**typed).paired.pairs
    return pair.comparison


def document(typed: dict[str, str]) -> bytes:
    """Return what is found, or what is wrong."""
    try:
        answer = find(read_typed(TOOL.fields, list(typed.items())), {})
    except QueryError as error:
        return str(error).encode()
    return b"" if answer is None else json_bytes(paired_document(answer.paired))


def link(typed: dict[str, str]) -> dict[str, str]:
    return dict(pairs_of(TOOL.fields, kept(read_typed(TOOL.fields, list(typed.items())))))


def page(tools: TestClient, **typed: str) -> LexborHTMLParser:
    answer = tools.get(f"{PATH}?{urlencode(typed)}")
    assert answer.status_code == 200
    return LexborHTMLParser(answer.text)


def formulas(tree: LexborHTMLParser) -> list[str]:
    return [each.text().replace("\N{MINUS SIGN}", "-") for each in tree.css("#found li.formula")]


def verdict(tree: LexborHTMLParser) -> str:
    return tree.css_first("#found .verdict").text()


# ---------------------------------------------------------------- what is found


def test_two_identical_sets_are_called_the_same_configuration(tools: TestClient) -> None:
    said = verdict(page(tools, before=STEADY, after="100, 100, 101, 99"))
    assert said.startswith("These look like the same configuration: value for value they are equal")


def test_a_difference_with_its_sums(tools: TestClient) -> None:
    """Medians 100 and 150.5, so 150.5 / 100 - 1 = 50.5 %; quartiles are taken at places 0.75 and 2.25 from 0.

    99 100 100 101 has 99.75 and 100.25, and 150 150 151 152 has 150 and 151.25.
    """
    tree = page(tools, before=STEADY, after=FASTER)
    assert verdict(tree) == "They differ: +50.5 % in speed, and their ranges do not meet."
    rows = [[cell.text() for cell in row.css("th, td")] for row in tree.css("#found tbody tr")][:2]
    assert rows == [
        ["Before", "4", "100", "99.75 to 100.25", "99 to 101", "0.5"],
        ["After", "4", "150.5", "150 to 151.25", "150 to 152", "0.8"],
    ]
    assert formulas(tree) == [
        "change = median after / median before - 1 = 150.5 / 100 - 1 = +50.5 %",
        "overlap = 0 %: the ranges do not meet, 150 lies above 101",
        "spread before = middle half / median = (100.25 - 99.75) / 100 = 0.5 %",
        "spread after = middle half / median = (151.25 - 150) / 150.5 = 0.831 %",
        "the medians differ by 50.5 tokens/s",
        "the wider middle half is 1.25 tokens/s",
    ]


def test_of_milliseconds_fewer_are_faster_and_an_overlap_is_worked_out(tools: TestClient) -> None:
    """From 150.5 to 100 ms tokens come 50.5 % faster; 100 to 106 and 104 to 110 share 2 of 10."""
    lines = formulas(page(tools, before=FASTER, after=STEADY, unit="ms"))
    assert "speed = median before / median after - 1 = 150.5 / 100 - 1 = +50.5 %" in lines
    shared = formulas(page(tools, before="100 102 104 106", after="104 106 108 110"))
    assert "overlap = shared range / whole range = (106 - 104) / (110 - 100) = 20 %" in shared


def test_a_warm_up_is_a_trap_until_it_is_left_out(tools: TestClient) -> None:
    typed = {"before": f"6.5\n{STEADY}", "after": f"6.9\n{FASTER}"}
    tree = page(tools, **typed)
    assert verdict(tree) == "No finding: warm_up_included."
    said = [each.text() for each in tree.css("#found dd")]
    assert said[0] == "Seen: before: the first value, 6.5, is far worse than the others."
    assert said[1].startswith("To do: Leave out the first values")
    assert verdict(page(tools, **typed, warm_up="1")).startswith("They differ: +50.5 %")


def test_a_log_tells_of_load_and_of_a_flag_that_fell_back(tools: TestClient) -> None:
    tree = page(tools, before=STEADY, after=FASTER, sent="32", flags="--mamba-cache-mode all", log=LOG)
    assert verdict(tree) == "No finding: foreign_load, flag_ignored."
    said = " ".join(each.text() for each in tree.css("#found dd"))
    # 32 running and 21 waiting.
    assert "The log shows 53 requests at once where the measurement sent 32." in said
    assert "--mamba-cache-mode had no effect" in said
    assert "falling back to 'align'" in said
    assert "abc123" not in tree.css_first("#found").text()


def test_the_start_of_a_server_lists_its_options_and_none_of_them_is_called_ignored() -> None:
    start = LOG.splitlines()[0]
    for flag in ("--mamba-cache-mode", "--hf-overrides", "--disable-log-stats"):
        assert comparison(before=STEADY, after=FASTER, flags=flag, log=start).traps == ()


def test_what_was_not_looked_for_is_said(tools: TestClient) -> None:
    def said(**typed: str) -> list[str]:
        tree = page(tools, before=STEADY, after=FASTER, **typed)
        return [each.text() for each in tree.css("section[aria-labelledby=unchecked] li")]

    assert said()[0].startswith("Without the server's log nobody can tell")
    assert "up to 53 requests at once; say how many were kept in flight" in said(log=LOG)[0]
    assert said(log=LOG, sent="60", flags="--mamba-cache-mode") == []
    assert said(log=LOG, sent="60", flags="--x")[0].startswith("No line of the log names --x:")


def test_a_benchmarks_results_are_read_as_the_command_reads_them(tools: TestClient) -> None:
    one = json.dumps([results.llama_bench(samples=(43.2, 43.1, 43.4, 43.3))])
    assert verdict(page(tools, before=one, after=one)).startswith("These look like the same configuration")
    assert link({"before": one, "after": one})["before"] == "43.2\n43.1\n43.4\n43.3"
    refused = tools.get(f"{PATH}?{urlencode({'before': one, 'after': one, 'unit': 'ms'})}")
    assert refused.status_code == 422
    assert "before holds tokens/s" in LexborHTMLParser(refused.text).css_first("[role=alert]").text()


def bench(decode: float, *, build: str, depths: tuple[int, ...] = (0,)) -> str:
    """As one `llama-bench -o json` of a prompt at 5,000 a second and of decode, at so many depths each."""
    steady = (0.0, 0.1, 0.2, 0.3)
    tests = [
        results.llama_bench(
            n_prompt=512 - generated * 4,
            n_gen=generated,
            samples=tuple(rate + each for each in steady),
            build_commit=build,
            n_depth=depth,
        )
        for depth in depths
        for generated, rate in ((0, 5000.0), (128, decode))
    ]
    return json.dumps(tests)


def test_each_configuration_of_a_result_file_is_compared_with_its_like(tools: TestClient) -> None:
    """Medians 150.15 and 180.15: 180.15 / 150.15 - 1 = 19.98 %; the prompts are the same, 5000.15."""
    typed = {"before": bench(150, build="old"), "after": bench(180, build="new", depths=(0, 4096))}
    answer = tools.post(PATH, data=typed)
    assert answer.status_code == 303
    tree = LexborHTMLParser(tools.get(answer.headers["location"]).text)
    assert verdict(tree) == (
        "2 configurations were timed before and after, each compared by itself: 1 with a difference, "
        "1 alike. Were nothing changed, up to 0.0571 of the 2 with 4 repetitions or more would come out with "
        "a difference by chance, on average."
    )
    rows = [[cell.text() for cell in row.css("th, td")] for row in tree.css("#found tbody tr")][:2]
    assert rows == [
        ["prefill, n_prompt 512, n_gen 0, n_depth 0", "5,000.2", "5,000.2", "0", "0", "look the same"],
        ["decode, n_prompt 0, n_gen 128, n_depth 0", "150.15", "180.15", "+20", "+20", "differ"],
    ]
    assert [each.text() for each in tree.css("section[aria-labelledby=verdict] li")] == [
        "prefill, n_prompt 512, n_gen 0, n_depth 4096",
        "decode, n_prompt 0, n_gen 128, n_depth 4096",
    ]
    assert len(tree.css("svg")) == 2
    names = [each.attributes["id"] for each in tree.css("[id]")]
    assert len(names) == len(set(names))
    table = list(
        csv.DictReader(io.StringIO(tools.get(answer.headers["location"].replace("?", ".csv?")).text))
    )
    # 2 / C(8, 4) of each: 2 x 2 / 70 = 0.05714.
    assert (table[-1]["quantity"], table[-1]["value"][:7]) == ("differences_by_chance_at_most", "0.05714")
    outcomes = [(row["configuration"][:7], row["value"]) for row in table if row["quantity"] == "outcome"]
    assert outcomes == [("prefill", "same"), ("decode,", "different")]


def test_a_link_of_several_configurations_holds_what_is_read_of_them() -> None:
    typed = {"before": bench(150, build="old"), "after": bench(180, build="new", depths=(0, 4096))}
    held = link(typed)
    assert document(held) == document(typed)
    assert link(held) == held
    assert "gguf" not in str(held)


def test_a_link_of_numbers_holds_how_many_the_files_kept_in_flight(tools: TestClient) -> None:
    """The log of 64 at once is of others where results say 8: on the page, and of its link again."""
    before, after = (json.dumps([results.vllm(rate + each) for each in range(4)]) for rate in (820.0, 920.0))
    typed = {"before": before, "after": after, "log": "Engine 000: Running: 60 reqs, Waiting: 4 reqs"}
    held = link(typed)
    assert (held["sent"], held["before"]) == ("8", "820.0\n821.0\n822.0\n823.0")
    assert document(held) == document(typed)
    answer = tools.post(PATH, data=typed)
    tree = LexborHTMLParser(tools.get(answer.headers["location"]).text)
    assert verdict(tree) == "No finding: foreign_load."
    assert link({**typed, "sent": "70"})["sent"] == "70"


def test_a_set_that_several_configurations_cannot_be_compared_with_is_refused(tools: TestClient) -> None:
    marked, notice = wrong(tools, {"before": bench(150, build="old"), "after": STEADY})
    assert marked == ["before"]
    assert "it holds prefill, n_prompt 512, n_gen 0; decode, n_prompt 0, n_gen 128" in notice


def test_a_long_set_is_shown_in_part_and_all_of_it_is_in_the_json(tools: TestClient) -> None:
    typed = {"before": "100 101 " * 60, "after": STEADY}
    tree = page(tools, **typed)
    assert len(tree.css("#found table")[1].css("tbody tr")) == MOST_SHOWN
    assert "and 70 more; the JSON has all." in tree.css_first("#found").text()
    assert len(tree.css("svg circle")) == MOST_SHOWN + 4
    values = tools.get(f"{PATH}.json?{urlencode(typed)}").json()["found"]["comparisons"][0]
    assert values["before"]["values"] == [100, 101] * 60


def test_the_picture_has_a_name_and_lies_on_its_scale(tools: TestClient) -> None:
    tree = page(tools, before=STEADY, after=FASTER)
    (drawn,) = tree.css("svg")
    name = tree.css_first(f"#{drawn.attributes['aria-labelledby']}").text()
    assert (drawn.attributes["role"], "from 99 to 152 tokens/s" in name) == ("img", True)
    across = [float(dot.attributes["cx"] or "") for dot in tree.css("svg circle")]
    # 99 lies at 60 and 152 at 480 of 500, so 100 lies at 60 + 420 / 53 = 67.9.
    assert (min(across), max(across), across[0]) == (60, 480, 67.9)
    assert not tree.css("[style]")
    same = page(tools, before="5 5 5 5", after="5 5 5 5")
    assert {dot.attributes["cx"] for dot in same.css("svg circle")} == {"270.0"}


def test_twins(tools: TestClient) -> None:
    typed = {"before": f"6.5\n{STEADY}", "after": FASTER}
    answer = tools.get(f"{PATH}.json?{urlencode(typed)}").json()["found"]
    assert json_bytes(answer) == json_bytes(paired_document(found(**typed).paired))
    table = list(csv.DictReader(io.StringIO(tools.get(f"{PATH}.csv?{urlencode(typed)}").text)))
    rows = {(row["part"], row["quantity"]): row for row in table}
    assert (rows["after", "median"]["value"], rows["after", "median"]["unit"]) == ("150.5", "tokens/s")
    assert rows["both", "outcome"]["value"] == "refused"
    assert "far worse" in rows["trap", "warm_up_included"]["says"]


# ---------------------------------------------------------------- what a link holds


def test_a_link_holds_no_more_of_a_log_than_is_read(tools: TestClient) -> None:
    typed = {"before": f"{STEADY} # my run", "after": FASTER, "flags": "--mamba-cache-mode all", "log": LOG}
    answer = tools.post(PATH, data={**typed, "sent": "32"})
    assert answer.status_code == 303
    held = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    assert held["log"].splitlines() == [
        "Running: 32 reqs, Waiting: 21 reqs",
        "WARNING 11-01 mamba_cache_mode='all' is not supported with api_key=..., falling back to 'align'",
    ]
    assert (held["before"], held["flags"]) == (STEADY, "--mamba-cache-mode")
    assert all(
        word not in answer.headers["location"] for word in ("secret", "alice", "love", "abc123", "run")
    )


def test_a_line_about_two_flags_is_the_first_of_neither_in_a_link() -> None:
    lines = ("beta ignored at first", "alpha and beta ignored")
    typed = {"before": STEADY, "after": FASTER, "flags": "alpha, beta", "log": "\n".join(lines)}
    assert link(typed)["log"].splitlines() == list(lines)
    assert document(link(typed)) == document(typed)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--hf-overrides ignored, key sk-proj-0123456789abcdefgh", "--hf-overrides ignored, key ..."),
        (
            "hf_overrides ignored: Authorization: Bearer a.b-c d",
            "hf_overrides ignored: Authorization: Bearer ... d",
        ),
        ("hf_overrides ignored, 'api_key': ['a', 'b'], x", "hf_overrides ignored, 'api_key': ..., x"),
        ("HF_TOKEN=hf_x hf_overrides ignored", "HF_TOKEN=... hf_overrides ignored"),
        ('password="two words" hf_overrides ignored', "password=... hf_overrides ignored"),
        (
            "max_num_batched_tokens=8192: hf_overrides ignored",
            "max_num_batched_tokens=8192: hf_overrides ignored",
        ),
    ],
)
def test_keys_and_passwords_are_left_out_of_what_a_log_says(line: str, shown: str) -> None:
    assert lines_that_matter(line, ["--hf-overrides"]) == shown


def test_a_log_that_tells_nothing_is_not_called_missing() -> None:
    typed = {"before": STEADY, "after": FASTER, "log": "INFO alice asked: what is love"}
    assert "alice" not in str(link(typed))
    assert document(link(typed)) == document(typed)
    assert b"No line of the log tells how many requests ran" in document(typed)


WORDS = (
    "mamba_cache_mode",
    "--top-k",
    "ignored",
    "falling back",
    "disable_x",
    "Running: 7 reqs",
    "Waiting: 9",
)
ODD = ("#running-req: 12,", "#queue-req: 3", "password='a b'", "api_key=ignored", "\x0b", "\u2028", "\r")
LINES = st.lists(
    st.lists(st.sampled_from((*WORDS, *ODD)), max_size=6).map(" ".join) | st.text(max_size=30), max_size=8
)
NUMBERS = st.lists(st.decimals("0.001", 10_000, places=3).map(str), min_size=1, max_size=8)
SETS = (
    st.builds(lambda found, sep: sep.join(found), NUMBERS, st.sampled_from(["\n", " ", ", ", ","]))
    | NUMBERS.map(lambda found: f"[{', '.join(found)}]")
    | st.lists(st.tuples(st.integers(1, 900), st.sampled_from([1, 8])), min_size=1, max_size=5).map(
        lambda found: json.dumps([results.vllm(float(one), max_concurrency=many) for one, many in found])
    )
    | st.text(max_size=20)
)


@given(
    before=SETS,
    after=SETS,
    lines=LINES,
    flags=st.lists(st.sampled_from([*WORDS[:3], "--a", "x" * 101]), max_size=4),
    sent=st.sampled_from(["", "5", "x"]),
)
def test_of_what_a_link_holds_the_same_is_found(
    before: str, after: str, lines: list[str], flags: list[str], sent: str
) -> None:
    typed = {
        "before": before,
        "after": after,
        "log": "\n".join(lines),
        "flags": " , ".join(flags),
        "sent": sent,
    }
    was = document(typed)
    if was.startswith(b"{"):
        held = link(typed)
        assert document(held) == was
        assert link(held) == held


# ---------------------------------------------------------------- what is wrong


def wrong(tools: TestClient, typed: dict[str, str]) -> tuple[list[Any], str]:
    answer = tools.post(PATH, data=typed)
    assert answer.status_code == 422
    tree = LexborHTMLParser(answer.text)
    for name, value in typed.items():
        control = tree.css_first(f"#{name}")
        assert (control.attributes.get("value") or control.text()) == value
    return [each.attributes["id"] for each in tree.css("[aria-invalid]")], tree.css_first(".notice").text()


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"before": "", "after": STEADY}, "before", "holds no number"),
        ({"before": STEADY}, "after", "holds no number"),
        ({"before": "100\nfast\n99", "after": STEADY}, "before", "“fast” is not right: give a number"),
        ({"before": STEADY, "after": "0 1 2 3"}, "after", "above 0"),
        ({"before": STEADY, "after": "1e-400000000 1"}, "after", "above 0"),
        ({"before": "-1", "after": STEADY}, "before", "give a number from 0"),
        ({"before": "1,200\n1,210", "after": STEADY}, "before", "without commas"),
        ({"before": "1,200", "after": STEADY}, "before", "without commas"),
        ({"before": "43,2\n43,1", "after": STEADY}, "before", "without commas"),
        ({"before": STEADY, "after": '{"a": 1}'}, "after", "give a result of one of"),
        ({"before": STEADY, "after": FASTER, "warm_up": "4"}, "warm_up", "leave at least one"),
        ({"before": STEADY, "after": FASTER, "warm_up": "x"}, "warm_up", "x"),
        ({"before": STEADY, "after": FASTER, "sent": "0"}, "sent", "0"),
        ({"before": STEADY, "after": FASTER, "foreign_requests": "-1"}, "foreign_requests", "-1"),
        ({"before": STEADY, "after": FASTER, "flags": "x" * 101}, "flags", "at most 20 flags"),
        ({"before": STEADY, "after": FASTER, "flags": ",".join(map(str, range(21)))}, "flags", "“20” is not"),
        ({"log": LOG}, "before", "holds no number"),
    ],
)
def test_a_wrong_field_is_marked_and_nothing_is_lost(
    tools: TestClient, typed: dict[str, str], field: str, said: str
) -> None:
    marked, notice = wrong(tools, typed)
    assert marked == [field]
    assert said in notice


@pytest.mark.parametrize(
    "text", ["100,101,99,100", "100, 101, 99, 100", "100 101\n99\t100", "[100,101,99,100]"]
)
def test_numbers_may_be_written_in_each_of_these_ways(text: str) -> None:
    assert comparison(before=text, after=STEADY).before.values == (100, 101, 99, 100)


def test_markup_in_any_field_is_text(tools: TestClient) -> None:
    markup = "<script>alert(1)</script>"
    for field in TOOL.fields:
        if not field.choices:
            answer = tools.post(PATH, data={"before": STEADY, "after": FASTER, field.name: markup})
            if answer.status_code == 303:
                answer = tools.get(answer.headers["location"])
            assert markup not in answer.text


def test_the_command_names_the_files_and_quotes_flags(tools: TestClient) -> None:
    tree = page(
        tools, before=STEADY, after=FASTER, unit="ms", sent="32", flags="--a=1 --b, x;reboot", log=LOG
    )
    assert tree.css_first("pre.command").text() == (
        "inferprice check claim timings --before before.txt --after after.txt --unit ms --sent 32 "
        "--log server.log --flag=--a --flag=--b --flag='x;reboot'"
    )
