"""What can be read whole by its name: the accelerators with their figures, and the methodology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types import Resource, ResourceTemplate

from app.domain.names import fold, one_of
from app.web.agent.asking import ask, bounded
from app.web.gpu_page import gpu_json
from app.web.gpu_pages import gpus_json
from app.web.methodology_page import methodology_json

if TYPE_CHECKING:
    from app.web.agent.asking import Call

JSON: Final = "application/json"
ACCELERATORS: Final = "inferprice://accelerators"
METHODOLOGY: Final = "inferprice://methodology"

RESOURCES: Final = (
    Resource(
        uri=ACCELERATORS,
        name="accelerators",
        title="Accelerators",
        description=(
            "Every accelerator with its published figures, units in the keys, and their sources. It is long: "
            f"{ACCELERATORS}/h100-sxm gives one."
        ),
        mime_type=JSON,
    ),
    Resource(
        uri=METHODOLOGY,
        name="methodology",
        title="Methodology",
        description="Every metric with its formula and unit, every rule, state, finding and claim.",
        mime_type=JSON,
    ),
)
TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=f"{ACCELERATORS}/{{variant}}",
        name="accelerator",
        title="One accelerator",
        description="One variant, such as h100-sxm: its figures, their sources, its siblings and its names.",
        mime_type=JSON,
    ),
)


def read_resource(call: Call, uri: str) -> dict[str, Any] | None:
    """Return the document of a resource, or None for a name that is none; raises as a tool does."""
    call.access.require("read_resource")
    if uri == ACCELERATORS:
        return bounded(ask(call, gpus_json, path="/gpus.json", pairs=[]))
    if uri == METHODOLOGY:
        return bounded(ask(call, methodology_json, path="/methodology.json", pairs=[]))
    if not uri.startswith(f"{ACCELERATORS}/"):
        return None
    known = fold(call.site.state.shared.keeper.catalogue.by_id)
    variant = one_of("variant", uri.removeprefix(f"{ACCELERATORS}/"), names=known)
    return bounded(ask(call, gpu_json, path=f"/gpus/{variant}.json", pairs=[], names={"variant": variant}))
