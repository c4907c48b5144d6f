"""Settings: each is in the README with what it means, and a wrong one is named."""

from pathlib import Path

import pytest

from app.settings import Settings, SettingsError, load_settings

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
TABLE = README.partition("<!-- settings:")[2].partition("<!-- end of settings -->")[0]


def variable(name: str) -> str:
    """Give the environment variable of a field."""
    return "DATABASE_URL" if name == "database_address" else f"INFERPRICE_{name.upper()}"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_readme_says_what_a_setting_means_in_the_words_of_the_code(name: str) -> None:
    assert f"| `{variable(name)}` |" in TABLE
    description = Settings.model_fields[name].description
    assert description
    assert " ".join(description.split()) in TABLE


def test_the_readme_names_no_setting_that_is_not_there() -> None:
    named = {line.split("`")[1] for line in TABLE.splitlines() if line.startswith("| `")}
    assert named == {variable(name) for name in Settings.model_fields}


def test_the_embedded_database_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INFERPRICE_HOME", str(tmp_path))
    assert load_settings().database_url == f"sqlite:///{tmp_path}/inferprice.db"
    assert load_settings().archive == tmp_path / "archive"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_a_postgresql_address_names_its_driver(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://me@db/prices")
    assert load_settings().database_url == "postgresql+psycopg://me@db/prices"


def test_a_list_has_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERPRICE_ENABLED_SOURCES", "runpod, vast")
    assert load_settings().enabled_sources == ("runpod", "vast")


@pytest.mark.parametrize(
    ("name", "value"),
    [("INFERPRICE_PORT", "http"), ("INFERPRICE_LOG_LEVEL", "loud"), ("DATABASE_URL", "oracle://x")],
)
def test_a_wrong_setting_is_named_with_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"^{name}: '{value}' is not right: "):
        load_settings()


def test_a_setting_cannot_be_changed_later() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().port = 1  # type: ignore[misc]
