"""What can be set from outside: one frozen object, read once from the environment."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path  # noqa: TC003 - pydantic reads the annotation at run time
from typing import Annotated, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app import __version__

PROJECT_URL = "https://inferprice.pages.dev/"


class SettingsError(ValueError):
    """An environment variable that cannot be used: which, what it says, and what would be right."""


class Settings(BaseSettings):
    """The settings of one process. Each is `INFERPRICE_` and its name, but for `DATABASE_URL`."""

    model_config = SettingsConfigDict(
        env_prefix="INFERPRICE_",
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
        env_ignore_empty=True,
    )

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("inferprice", appauthor=False))
    """Folder of the embedded database and of the archive; the platform's data folder by default."""

    database_address: str = Field(
        default="", validation_alias=AliasChoices("DATABASE_URL", "INFERPRICE_DATABASE_URL")
    )
    """`sqlite:///...` or `postgresql://...`; by default a SQLite file in the home folder."""

    host: str = "127.0.0.1"
    """Address that `serve` listens on."""

    port: int = Field(default=8000, ge=1, le=65535)
    """Port that `serve` listens on."""

    public_url: str = ""
    """Address at which readers reach `serve`, such as `https://prices.example.org`, if it is another one."""

    oauth_issuer: str = ""
    """Issuer of tokens for `/mcp`, as its tokens name it; with it everything asked there needs a token."""

    oauth_jwks_url: str = ""
    """Where the issuer publishes its keys; where its own metadata say by default."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is worth a log line."""

    enabled_sources: Annotated[tuple[str, ...], NoDecode] = ()
    """Sources to read although they are off by default, with commas; read their terms first."""

    user_agent: str = f"InferPrice/{__version__} (+{PROJECT_URL})"
    """How fetches introduce themselves; name an address where you can be reached."""

    fetch_delay_s: float = Field(default=2.0, ge=0, le=600)
    """Seconds between two requests to one host."""

    fetch_timeout_s: float = Field(default=30.0, gt=0, le=600)
    """Seconds a request may take as a whole."""

    max_body_bytes: int = Field(default=20_000_000, ge=1_000, le=1_000_000_000)
    """Largest page that is read, counted after decompression."""

    scheduler: Literal["auto", "inside", "off"] = "auto"
    """`inside`: `serve` reads the sources itself; `off`: it does not; `auto`: inside with SQLite."""

    run_limit_s: float = Field(default=3600.0, ge=1, le=86_400)
    """Seconds after which a run that has not ended is taken for killed, and its slot is tried once more."""

    lambda_api_key: SecretStr = SecretStr("")
    """Key of a Lambda account, for its price API beside the public page; never logged or stored."""

    runpod_api_key: SecretStr = SecretStr("")
    """Key of a RunPod account, sent with its price query; never logged or stored."""

    vast_api_key: SecretStr = SecretStr("")
    """Key of a Vast.ai account, sent with its price query; never logged or stored."""

    huggingface_token: SecretStr = SecretStr("")
    """Token of a Hugging Face account, for checkpoints that are not for everyone; never logged or stored."""

    dumps: Path | None = None
    """Folder of the daily Parquet files that `serve` offers; `dumps` in the home folder by default."""

    archive_retention_days: int = Field(default=400, ge=1, le=36_500)
    """Days after which a fetched page may go, when no price cites it and nobody has to decide on it."""

    @field_validator("database_address")
    @classmethod
    def _known_database(cls, value: str) -> str:
        """Name the driver of a PostgreSQL address, and refuse any other kind of database."""
        for prefix in ("postgres://", "postgresql://"):
            if value.startswith(prefix):
                return f"postgresql+psycopg://{value.removeprefix(prefix)}"
        if value and not value.startswith(("postgresql+psycopg://", "sqlite://")):
            raise ValueError("begin it with sqlite:/// or postgresql://")
        return value

    @field_validator("public_url", "oauth_issuer", "oauth_jwks_url")
    @classmethod
    def _web_address(cls, value: str, info: ValidationInfo) -> str:
        """Refuse what is no address of the web, or can be read on the way; tokens are for a public one."""
        parts = urlsplit(value)
        is_here = parts.hostname in {"127.0.0.1", "localhost", "::1"}
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_here)
        if value and not (parts.hostname and is_safe):
            raise ValueError("begin it with https://; http:// is for this machine alone")
        if value and (parts.query or parts.fragment or parts.username is not None):
            raise ValueError("leave out what stands before an @ and after a ? or #")
        if value and info.field_name == "oauth_issuer" and not info.data.get("public_url"):
            raise ValueError("set INFERPRICE_PUBLIC_URL, which tokens are for, too")
        return value if info.field_name == "oauth_issuer" else value.rstrip("/")

    @field_validator("enabled_sources", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        """Read a list with commas."""
        return (
            tuple(name.strip() for name in value.split(",") if name.strip())
            if isinstance(value, str)
            else value
        )

    @cached_property
    def database_url(self) -> str:
        """Return the database's address; the embedded one when none is set."""
        return self.database_address or f"sqlite:///{self.home / 'inferprice.db'}"

    @property
    def oauth_resource(self) -> str:
        """Return what tokens have to be for: the address of `/mcp`."""
        return f"{self.public_url}/mcp"

    def provider_keys(self) -> dict[str, SecretStr]:
        """Return the providers' keys that are set, by the name of their setting."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: key for name, key in fields.items() if isinstance(key, SecretStr) and key}

    @property
    def serve_reads_sources(self) -> bool:
        """Tell whether `serve` keeps the board by itself; with PostgreSQL that is left to `schedule`."""
        if self.scheduler == "auto":
            return self.database_url.startswith("sqlite")
        return self.scheduler == "inside"

    @property
    def dumps_folder(self) -> Path:
        """Return the folder of the daily Parquet files."""
        return self.dumps or self.home / "dumps"

    @property
    def archive(self) -> Path:
        """Return the folder of fetched pages."""
        return self.home / "archive"


def load_settings() -> Settings:
    """Read the environment; raises SettingsError naming each variable that cannot be used."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(dict(each)) for each in error.errors())) from None
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _sentence(fault: dict[str, object]) -> str:
    place = fault["loc"]
    name = str(place[0]) if isinstance(place, tuple) and place else "settings"
    variable = name if name.isupper() else f"INFERPRICE_{name.upper()}"
    # An address may hold a password, which belongs in no message.
    value = re.sub(r"//[^@/]*@", "//...@", str(fault["input"]))
    return f"{variable}: '{value}' is not right: {str(fault['msg']).removeprefix('Value error, ')}"
