"""The tool on SGLang's sampler: which of four paths a decode batch takes, why, and what leads back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from app.domain.query import QueryError, read_whole
from app.domain.serving.batch import judge
from app.domain.serving.documents import sampler_document
from app.domain.serving.reading import MOST_ENTRIES, InputError, read_documents
from app.domain.serving.sampler import Server, is_off, plain, read_config, reasons_of
from app.domain.serving.sampler_kept import kept_config, kept_requests
from app.domain.serving.sampler_remedies import remedies
from app.domain.serving.sampler_rules import FIELDS as SAMPLING_FIELDS
from app.domain.serving.sampler_rules import RULES
from app.web.state import MAX_QUERY_STRING
from app.web.tools.fields import Field
from app.web.tools.tool import Example, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.serving.batch import Verdict
    from app.domain.serving.sampler import Reason, Sampling
    from app.domain.serving.sampler_remedies import Remedy
    from app.domain.serving.sampler_rules import Endpoint, Path, Rules, SamplingDefaults
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

MOST_REQUESTS: Final = 10_000
"""Requests that are judged at once, several times what a server runs in a batch; the command takes more."""

_MOST_ROWS: Final = 50
_MOST_REASONS: Final = 20

_ENDPOINTS: Final[Mapping[str, Endpoint]] = {str(name): name for name in RULES.endpoints}
_DEFAULTS: Final[Mapping[str, SamplingDefaults]] = {"model": "model", "openai": "openai"}

_HEADINGS: Final[Mapping[Path | None, str]] = {
    "gumbel": "This batch takes the fast path",
    "filtered": "No request of this batch takes the fast path",
    "greedy": "Nothing is drawn: every request is greedy",
    "deterministic": "This batch draws with seeds, off the fast path",
    None: "The batch has drained",
}

FIELDS: Final = (
    Field(
        name="requests",
        label="Requests",
        about=(
            "Request bodies as they are sent, all of one batch: a JSON object a line, an array, or one body "
            "over several lines; lines of a batch file too. Prompts change nothing; the link leaves them out."
        ),
        rows=8,
    ),
    Field(
        name="generation_config",
        label="generation_config.json",
        about="The model's file as the server reads it; empty when the model has none.",
        rows=5,
    ),
    Field(
        name="endpoint",
        label="Endpoint",
        about="Where all of the requests are sent.",
        choices=tuple((name, rule.route) for name, rule in RULES.endpoints.items()),
    ),
    Field(
        name="sampling_defaults",
        label="--sampling-defaults",
        about="How the server was started.",
        choices=(("model", "model, which it is when not given"), ("openai", "openai")),
    ),
    Field(
        name="preferred",
        label="--preferred-sampling-params",
        about='The JSON that the server was started with, as {"top_k": 40}; empty when not given.',
        rows=2,
    ),
    Field(
        name="deterministic",
        label="--enable-deterministic-inference",
        about="The server was started with it.",
        is_switch=True,
    ),
    Field(
        name="ended",
        label="Requests that are over",
        about="Their numbers from 1, as 2, 5: they have ended while the others run on.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One of the four values of a request as the scheduler sees it, with what is to be said of it."""

    value: str
    says: str
    is_off: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request of the table, its cells in the order of the four fields."""

    name: str
    has_ended: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The verdict on a batch and the ways back to the fast path."""

    verdict: Verdict
    ways: tuple[Remedy, ...]

    @property
    def heading(self) -> str:
        """The verdict in a few words."""
        return _HEADINGS[self.verdict.path]

    @property
    def said(self) -> tuple[str, str]:
        """The path with what it is, and what that means for the speed."""
        path = self.verdict.path
        if path is None:
            return "", "No request is left, so no flag is: the next batch starts afresh."
        return f"{path}: {RULES.paths[path]}.", RULES.means[path]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The first of the reasons."""
        return self.verdict.reasons[:_MOST_REASONS]

    @property
    def more_reasons(self) -> int:
        """How many reasons are not shown."""
        return len(self.verdict.reasons) - len(self.reasons)

    @property
    def rows(self) -> list[Row]:
        """The first of the requests, those that run before those that have ended."""
        running, ended = self.verdict.requests, self.verdict.ended
        rows = [_row(one, has_ended=False) for one in running[:_MOST_ROWS]]
        return [*rows, *(_row(one, has_ended=True) for one in ended[: _MOST_ROWS - len(rows)])]

    @property
    def count(self) -> int:
        """How many requests there are."""
        return len(self.verdict.requests) + len(self.verdict.ended)

    @property
    def ends_greed(self) -> bool:
        """Whether a way back makes requests draw that take the likeliest token now."""
        return any(one.is_greedy for one in (*self.verdict.requests, *self.verdict.ended)) and bool(self.ways)


def _row(one: Sampling, *, has_ended: bool) -> Row:
    by_temperature = is_off(one, "temperature")
    greedy = f"counts as {plain(RULES.neutral['temperature'])}, greedy; "
    says = {field: _short(source) for field, source in one.sources.items()}
    if by_temperature:
        says |= {"temperature": f"{greedy}{says['temperature']}", "top_k": "by the temperature"}
    has_none = one.top_k == RULES.top_k_all
    if has_none:
        says["top_k"] = f"{RULES.top_k_all:,}; {says['top_k']}"
    values = {
        "temperature": plain(one.temperature),
        "top_k": "none" if has_none else f"{one.top_k:,}",
        "top_p": plain(one.top_p),
        "min_p": plain(one.min_p),
    }
    off = {reason.field for reason in reasons_of(one)}
    cells = (Cell(value=values[field], says=says[field], is_off=field in off) for field in SAMPLING_FIELDS)
    return Row(name=one.name, has_ended=has_ended, cells=tuple(cells))


def _short(source: str) -> str:
    return "the endpoint's default" if source.startswith("the default of ") else source


def find(typed: Typed, _llms: Llms) -> Found | None:
    """Return the verdict on the requests; None where none are pasted, nor anything to judge them by."""
    if not typed.text("requests").strip():
        if any(typed.text(name).strip() for name in ("generation_config", "preferred", "ended")):
            raise QueryError("requests", "", "paste at least one request body, {} for a plain one")
        return None
    server = Server(
        generation_config=_config(typed, "generation_config"),
        sampling_defaults=_DEFAULTS[typed.text("sampling_defaults")],
        preferred=_config(typed, "preferred"),
        deterministic=typed.is_on("deterministic"),
    )
    endpoint = _ENDPOINTS[typed.text("endpoint")]
    verdict = judge(_bodies(typed), server, endpoint=endpoint, ended=_ended(typed))
    return Found(verdict=verdict, ways=remedies(verdict, server, endpoint=endpoint))


def _bodies(typed: Typed) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the bodies with their places; a body on its own begins in line 1."""
    found = read_documents(typed.text("requests").encode(), "requests")
    if len(found) > MOST_REQUESTS:
        expected = f"give at most {MOST_REQUESTS:,}; the command below takes more"
        raise InputError("requests", f"{len(found):,} requests", expected)
    return [("requests line 1" if place == "requests" else place, body) for place, body in found]


def _config(typed: Typed, name: str) -> Mapping[Any, Any] | None:
    text = typed.text(name)
    return read_config(text.encode(), name) if text.strip() else None


def _ended(typed: Typed) -> list[int]:
    return sorted({read_whole("ended", one, low=1, high=MOST_ENTRIES) for one in typed.names("ended")})


def kept(typed: Typed) -> Mapping[str, str]:
    """Return the texts of which the same is found, without prompts or anything else that is not read."""
    texts = {**typed.texts, "ended": ", ".join(str(number) for number in _ended(typed))}
    if typed.text("requests").strip():
        endpoint = _ENDPOINTS[typed.text("endpoint")]
        texts["requests"] = kept_requests(
            typed.text("requests").encode(), "requests", endpoint=endpoint, most=MAX_QUERY_STRING
        )
    for name in ("generation_config", "preferred"):
        text = typed.text(name)
        texts[name] = kept_config(text.encode(), name) if text.strip() else ""
    return texts


def document(found: Found) -> dict[str, Any]:
    """Return what was found as JSON."""
    return sampler_document(found.verdict, found.ways)


COLUMNS: Final = (
    "request",
    "has_ended",
    *(f"{field}{ending}" for field in SAMPLING_FIELDS for ending in ("", "_from")),
    "asked_top_k",
    "off_fast_path_by",
)


def rows(found: Found) -> Iterator[Sequence[object]]:
    """Yield a line for each request, those that have ended last."""
    for requests, has_ended in ((found.verdict.requests, False), (found.verdict.ended, True)):
        for one in requests:
            values = (one.temperature, one.top_k, one.top_p, one.min_p)
            pairs = zip(values, (one.sources[field] for field in SAMPLING_FIELDS), strict=True)
            off = " | ".join(reason.field for reason in reasons_of(one))
            yield one.name, has_ended, *(each for pair in pairs for each in pair), one.asked_top_k, off


def command(typed: Typed) -> str:
    """Return the line that does the same in a terminal."""
    options = ["--generation-config generation_config.json"] * bool(typed.text("generation_config").strip())
    for name in ("endpoint", "sampling_defaults"):
        if typed.text(name) != TOOL.by_name[name].initial:
            options.append(f"--{name.replace('_', '-')} {typed.text(name)}")
    options += ["--preferred preferred.json"] * bool(typed.text("preferred").strip())
    options += ["--deterministic"] * typed.is_on("deterministic")
    numbers = [one for one in typed.names("ended") if one.isascii() and one.isdigit()]
    options += [f"--ended {number}" for number in numbers[:_MOST_ROWS]]
    return " ".join(["inferprice check sampler requests.jsonl", *options])


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerTool(Tool):
    """The tool with the rules that its page shows before anything is checked, too."""

    rules: Rules

    @property
    def four(self) -> Sequence[str]:
        """The fields that the choice depends on."""
        return SAMPLING_FIELDS

    @property
    def greedy_below(self) -> str:
        """The temperature from which a request is greedy, without an exponent."""
        return f"{self.rules.greedy_below:f}"


_QWEN3: Final = '{"temperature": 0.6, "top_p": 0.95, "top_k": 20}'

TOOL: Final = SamplerTool(
    name="sampler",
    title="SGLang's sampler path",
    about=(
        f"Which of the four paths of {RULES.version} a decode batch is drawn by, which field of which "
        "request took it there, until when, and what leads back to the fast path."
    ),
    fields=FIELDS,
    find=find,
    document=document,
    columns=COLUMNS,
    rows=rows,
    command=command,
    kept=kept,
    is_pasted=True,
    rules=RULES,
    examples=(
        Example(
            label="a plain chat request to a Qwen3 model",
            texts={"requests": '{"model": "Qwen/Qwen3-8B"}', "generation_config": _QWEN3},
        ),
        Example(
            label="a greedy request among others",
            texts={"requests": '{}\n{"temperature": 0}\n{}'},
        ),
        Example(
            label="a filter that stays after its request",
            texts={"requests": '{}\n{"top_p": 0.95}', "ended": "2"},
        ),
        Example(
            label="the same model at /generate",
            texts={"requests": '{"text": ""}', "generation_config": _QWEN3, "endpoint": "generate"},
        ),
    ),
)
