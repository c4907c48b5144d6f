"""How SGLang 0.5.20 chooses the path that draws a decode batch's next tokens, as one table of rules.

The merge of request, model and defaults, the flags and the paths are as a published check of the source of
v0.5.20 (commit 94602c9c) states them, 2026-10-26. The ranges, what a null is, the default temperature of
/v1/responses and what the model's file and preferred parameters reach there are from sampling_params.py,
protocol.py, serving_responses.py and tokenizer_manager.py of the wheel of 0.5.20, and from the project's
issue 39096. Another version needs its own table.

What the fast path saves is what the same check timed on a Tesla T4; it ran no server.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Endpoint = Literal["chat", "responses", "completions", "generate"]
Path = Literal["greedy", "gumbel", "deterministic", "filtered"]
Field = Literal["temperature", "top_k", "top_p", "min_p"]
SamplingDefaults = Literal["model", "openai"]
Null = Literal["left out", "the default", "refused"]

FIELDS: Final[tuple[Field, ...]] = ("temperature", "top_k", "top_p", "min_p")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRule:
    """What one endpoint takes from where, the request always first.

    `from_model` are the fields it takes from generation_config.json while the server's sampling defaults are
    the model's. `left_open` are those it passes on only when a request has them, so that the server's
    preferred parameters can fill them. `defaults` fills the rest. `null` is what a field of null counts as in
    a request: left out; the default, whatever is preferred; or an error of the server.
    """

    route: str
    from_model: tuple[Field, ...]
    left_open: tuple[Field, ...]
    defaults: Mapping[Field, float]
    null: Null = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Medians of 200 calls of the sampler, of both versions, as the published check prints them, in µs.

    `is_synchronized` with the GPU waited for, which is what a decode step pays; else the host's part alone.
    """

    batch: int
    is_synchronized: bool
    old_us: Decimal
    new_us: Decimal

    @property
    def saved_us(self) -> Decimal:
        """What a call got shorter by: old_us - new_us."""
        return self.old_us - self.new_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The table: all that the choice of a path depends on, and the version it was read from.

    A temperature from 0 to below `greedy_below` becomes `greedy_top_k`; a top_k of `no_top_k` becomes
    `top_k_all`. Beyond `ranges` the server answers with an error. `neutral` are the values that filter
    nothing and draw as the model says. `paths` says what each path is, `means` what it means for the speed,
    `granted` what is taken for granted of the server.
    """

    version: str
    commit: str
    greedy_below: float
    greedy_top_k: int
    no_top_k: int
    top_k_all: int
    no_top_p: float
    no_min_p: float
    ranges: Mapping[Field, str]
    endpoints: Mapping[Endpoint, EndpointRule]
    neutral: Mapping[Field, float]
    paths: Mapping[Path, str]
    means: Mapping[Path, str]
    drains: str
    granted: str
    timed: tuple[Timed, ...]
    timed_on: str


_NEUTRAL: Final[Mapping[Field, float]] = MappingProxyType(
    {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0}
)

RULES: Final = Rules(
    version="SGLang 0.5.20",
    commit="94602c9c",
    greedy_below=1e-6,
    greedy_top_k=1,
    no_top_k=-1,
    top_k_all=2**30,
    no_top_p=1.0,
    no_min_p=0.0,
    ranges=MappingProxyType(
        {
            "temperature": "give a finite number of 0 or more",
            "top_k": "give -1 for none, or a whole number from 1 to 2147483647",
            "top_p": "give a number above 0 and up to 1",
            "min_p": "give a number from 0 to 1",
        }
    ),
    endpoints=MappingProxyType(
        {
            "chat": EndpointRule(
                route="/v1/chat/completions",
                from_model=FIELDS,
                # Preferred parameters never reach the four: issue 39096 of the project, open on 2026-09-12.
                left_open=(),
                defaults=_NEUTRAL,
            ),
            "responses": EndpointRule(
                route="/v1/responses",
                from_model=FIELDS,
                left_open=("top_k", "min_p"),
                defaults=MappingProxyType({**_NEUTRAL, "temperature": 0.7}),
            ),
            "completions": EndpointRule(
                route="/v1/completions", from_model=(), left_open=(), defaults=_NEUTRAL, null="refused"
            ),
            "generate": EndpointRule(
                route="/generate", from_model=(), left_open=FIELDS, defaults=_NEUTRAL, null="the default"
            ),
        }
    ),
    neutral=_NEUTRAL,
    paths=MappingProxyType(
        {
            "greedy": "every request takes the likeliest token; nothing is drawn",
            "gumbel": (
                "the fast path: every request draws by temperature alone (Gumbel-max, unless the server runs "
                "with SGLANG_OPT_USE_GUMBEL_SAMPLE=0)"
            ),
            "deterministic": "no request filters, and the server's deterministic mode draws with seeds",
            "filtered": "a request filters by top_k, top_p or min_p, so all of the batch takes the slow path",
        }
    ),
    means=MappingProxyType(
        {
            "greedy": (
                "Version 0.5.20 made drawing faster, and this path does not draw: a benchmark of such "
                "requests (temperature 0, for one) says nothing about that change."
            ),
            "gumbel": (
                "This is the code that version 0.5.20 made faster: about 0.1 ms of a decode step, timed by "
                "itself. What your server gains shows when the same build runs once as it is and once with "
                "SGLANG_OPT_USE_GUMBEL_SAMPLE=0."
            ),
            "deterministic": (
                "It draws with seeds on PyTorch's sampling backend, which version 0.5.20 did not make faster."
            ),
            "filtered": (
                "No request of the batch gains what the drawing of version 0.5.20 was timed to save, about "
                "0.1 ms of a decode step, not even one without a filter: this path's code is what it was."
            ),
        }
    ),
    drains=(
        "The flag stays when the request that set it ends: the running batch is on this path until it has "
        "drained and a new one starts."
    ),
    granted=(
        "Taken for granted: no speculative decoding, which picks tokens while it verifies drafts, by other "
        "code; no beam search; and no Ascend NPU, which has a sampler of its own."
    ),
    timed=(
        Timed(batch=1, is_synchronized=False, old_us=Decimal("143.2"), new_us=Decimal("45.1")),
        Timed(batch=1, is_synchronized=True, old_us=Decimal("170.6"), new_us=Decimal("61.9")),
        Timed(batch=32, is_synchronized=False, old_us=Decimal("693.5"), new_us=Decimal("46.1")),
        Timed(batch=32, is_synchronized=True, old_us=Decimal("725.4"), new_us=Decimal("628.1")),
    ),
    timed_on=(
        "Tesla T4, vocabulary of 151,936 tokens, medians of 200 calls of torch.multinomial (0.5.19) and of "
        "Gumbel-max (0.5.20); no server was run"
    ),
)
