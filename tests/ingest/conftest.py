"""A migrated database of each kind, and an empty archive, for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.store.migrate import upgrade
from app.store.session import make_engine


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on an empty, migrated database; the test runs once on each kind."""
    made = make_engine(database_url)
    upgrade(made)
    yield made
    made.dispose()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder for fetched bodies, not there yet."""
    return tmp_path / "archive"
