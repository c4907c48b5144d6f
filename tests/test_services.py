"""Each service's command from docker-compose.yml, run against a real PostgreSQL, and an installed wheel."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

ROOT = Path(__file__).parent.parent
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
PATIENCE_S = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(service: str, port: int) -> list[str]:
    """Give a service's command as compose has it, on a port and an address of the test's own."""
    words = [str(port) if word == "8000" else word for word in SERVICES[service]["command"]]
    return [sys.executable, "-m", "app", *("127.0.0.1" if word == "0.0.0.0" else word for word in words)]  # noqa: S104 - compose's own word is replaced


@contextmanager
def running(
    words: list[str], *, folder: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Give a process that is ended as a container engine ends one, with SIGTERM."""
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def page(port: int, path: str) -> str:
    """Give a page once the server answers."""
    ends_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as answer:
                return str(answer.read().decode())
        except URLError:
            if time.monotonic() > ends_at:
                raise
            time.sleep(0.05)


@pytest.fixture
def environment(tmp_path: Path, postgres_database_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": postgres_database_url,
        # Whatever a scheduler tries to fetch ends at a closed port of this machine.
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "INFERPRICE_HOME": str(tmp_path / "home"),
    }


def test_migrate_then_web_serve_the_table(tmp_path: Path, environment: dict[str, str]) -> None:
    port = free_port()
    subprocess.run(command("migrate", port), cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_S)
    with running(command("web", port), folder=tmp_path, environment=environment) as process:
        assert page(port, "/healthz") == "ok\n"
        assert "24 of 24 offers" in page(port, "/?sort=provider")
        assert page(port, "/offers.csv?gpu=h100-pcie").count("\r\n") == 2
    assert process.returncode in {0, -signal.SIGTERM}


def test_the_scheduler_plans_every_source_that_is_on_and_ends_when_told(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    subprocess.run(command("migrate", 0), cwd=tmp_path, env=environment, check=True, timeout=PATIENCE_S)
    with running(command("scheduler", 0), folder=tmp_path, environment=environment) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
    assert any("is read daily at about" in line for line in said)
    assert any("is off by default" in line for line in said)
    assert process.returncode == 0


def test_web_says_what_to_do_when_the_tables_are_not_there(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    words = command("web", free_port())
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 1
    assert "Run `inferprice migrate` first." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_first_start_without_a_network_shows_the_table_at_once_and_then_why_nothing_was_read(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    port, home = free_port(), tmp_path / "home"
    del environment["DATABASE_URL"]
    words = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    with running(words, folder=tmp_path, environment=environment) as process:
        first = page(port, "/")
        assert "24 of 24 offers" in first
        ends_at = time.monotonic() + PATIENCE_S
        while "So far none could be. The last try was at " not in (html := page(port, "/")):
            assert time.monotonic() < ends_at
            time.sleep(0.3)
        assert "The sources are being read for the first time." in html
        assert "cannot be reached" in html
        assert "24 of 24 offers" in html
    assert process.returncode == 0
    assert (home / "inferprice.db").exists()


def test_a_wheel_serves_a_page_from_another_folder(tmp_path: Path) -> None:
    """The wheel's files alone, away from the checkout; what it depends on comes from this environment."""
    build = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([*build, "--target", str(tmp_path / "site"), str(ROOT)], check=True, timeout=300)
    port, elsewhere = free_port(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTHONSAFEPATH": "1",
        "INFERPRICE_HOME": str(tmp_path / "home"),
        "INFERPRICE_SCHEDULER": "off",
    }
    environment.pop("DATABASE_URL", None)
    words = [sys.executable, "-m", "app", "serve", "--port", str(port)]
    with running(words, folder=elsewhere, environment=environment):
        html = page(port, "/")
        assert "24 of 24 offers" in html
        (script,) = [part for part in html.split('"') if part.startswith("/static/vendor/htmx.")]
        assert "htmx" in page(port, script)
    where = subprocess.run(
        [sys.executable, "-c", "import app; print(app.__file__)"],
        cwd=elsewhere, env=environment, check=True, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(tmp_path)
