"""The container files run commands that exist, with no more rights than they need."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import app
from app.cli import main

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
OURS = ("migrate", "web", "scheduler")


def instruction(name: str) -> str:
    """Give the last instruction of this name in the Dockerfile."""
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, flags=re.MULTILINE)[-1]


@pytest.mark.parametrize("name", OURS)
def test_each_service_runs_a_command_that_exists_with_options_it_has(name: str) -> None:
    words = COMPOSE["services"][name]["command"]
    command = main.commands[words[0]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words[1:] if word.startswith("--")} <= known


def test_the_image_by_itself_serves() -> None:
    assert json.loads(instruction("ENTRYPOINT")) == ["inferprice"]
    assert json.loads(instruction("CMD"))[0] in main.commands


def test_the_image_is_not_root_and_has_no_node() -> None:
    assert instruction("USER") == COMPOSE["services"]["web"]["user"] == "10001:10001"
    final_stage = DOCKERFILE.rpartition("\nFROM ")[2]
    assert not re.search(r"node|npm|gcc|apt-get", final_stage.partition("\n")[2])


@pytest.mark.parametrize("name", OURS)
def test_a_service_cannot_change_its_own_system(name: str) -> None:
    service: dict[str, Any] = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]  # noqa: S108 - the container's own
    assert service["cap_drop"] == ["ALL"]
    assert service["image"] == f"inferprice:{app.__version__}"


def test_every_process_waits_for_the_tables_and_those_for_the_database() -> None:
    services = COMPOSE["services"]
    assert services["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    for name in ("web", "scheduler"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def test_there_is_no_password_until_somebody_sets_one() -> None:
    environments = [service["environment"] for service in COMPOSE["services"].values()]
    passwords = [value for one in environments for key, value in one.items() if key.endswith("PASSWORD")]
    assert len(passwords) == 4
    assert all(password.startswith("${POSTGRES_PASSWORD:?") for password in passwords)
    assert not any(re.search(r":[^/@]+@", one.get("DATABASE_URL", "")) for one in environments)


def test_only_this_machine_reaches_the_port() -> None:
    assert [port for port in COMPOSE["services"]["web"]["ports"] if not port.startswith("127.0.0.1:")] == []
    assert "ports" not in COMPOSE["services"]["db"]
