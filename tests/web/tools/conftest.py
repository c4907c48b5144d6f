"""The tools as the web application serves them; they read no database, so an empty one does."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import serve


@pytest.fixture(scope="module")
def tools() -> Iterator[TestClient]:
    with serve("sqlite://") as client:
        yield client
