"""Generated requests and servers for the sampler's checks: any mix of fields that a server takes."""

from typing import Any

from hypothesis import strategies as st

from app.domain.serving.sampler import Server
from app.domain.serving.sampler_rules import Endpoint

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.sampled_from([0, 0.0, 1e-7, 0.000001, 0.6, 1, 1.0, 2.5]) | st.floats(0, 1e9),
    "top_k": st.sampled_from([-1, 1, 2, 20, 20.0, 2**30 - 1, 2**30, 2**31 - 1]),
    "top_p": st.sampled_from([0.5, 0.95, 1, 1.0, 0.9999999]) | st.floats(1e-300, 1),
    "min_p": st.sampled_from([0, 0.0, 1e-9, 0.05, 1]) | st.floats(0, 1),
}
FIELDS = st.fixed_dictionaries({}, optional={name: value | st.none() for name, value in VALUES.items()})
STATED = st.fixed_dictionaries({}, optional=VALUES)
OTHERS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=9),
        "messages": st.just([{"role": "user", "content": "a secret"}]),
        "repetition_penalty": st.just(1.05),
        "sampling_params": st.just({"top_k": 5, "stop": "a secret"}),
        "stop": st.lists(st.text(max_size=3), max_size=2),
    },
)
PLAIN = st.builds(lambda one, other: {**other, **one}, FIELDS, OTHERS)
PROMPTS = st.fixed_dictionaries(
    {}, optional={"text": st.just("a secret"), "input_ids": st.just([1, 2]), "input_embeds": st.just([[0.5]])}
)
NESTED = st.builds(
    lambda prompt, beside, nested: {**prompt, **beside, **nested},
    PROMPTS,
    st.just({}) | FIELDS,
    st.fixed_dictionaries({}, optional={"sampling_params": PLAIN | st.none() | st.lists(PLAIN, max_size=3)}),
)
ENDPOINTS: st.SearchStrategy[Endpoint] = st.sampled_from(["chat", "responses", "completions", "generate"])
SERVERS = st.builds(
    Server,
    generation_config=st.none() | STATED,
    sampling_defaults=st.sampled_from(["model", "openai"]),
    preferred=st.none() | STATED,
    deterministic=st.booleans(),
)


def bodies(endpoint: Endpoint) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return lists of request bodies for an endpoint, some as lines of a batch file hold them."""
    one = NESTED | PLAIN if endpoint == "generate" else PLAIN
    urls = st.sampled_from(["/v1/chat/completions", "/v1/completions", "/generate", "/v1/embeddings", None])
    wrapped = st.builds(lambda body, url: {"custom_id": "1", "url": url, "body": body}, one, urls)
    return st.lists(one | wrapped, min_size=1, max_size=5)
