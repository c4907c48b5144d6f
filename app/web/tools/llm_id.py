"""The field of a model's id that two tools have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.domain.names import fold, one_of
from app.domain.query import QueryError
from app.domain.serving.reading import shown

if TYPE_CHECKING:
    from app.web.tools.fields import Typed
    from app.web.tools.tool import Llms

FIELD: Final = "llm"
_LONGEST: Final = 200


def llm_id(typed: Typed, llms: Llms) -> str:
    """Return the id of the model that is typed, empty for none; a QueryError for another names those near."""
    text = typed.text(FIELD).strip()
    if len(text) > _LONGEST:
        raise QueryError(FIELD, shown(text), f"give an id of at most {_LONGEST} characters")
    return one_of(FIELD, text, names=fold(llms)) if text else ""
