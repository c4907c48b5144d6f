"""Every tool at /mcp with every scope but its own, and four faults in the code that must show."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver.exceptions import ToolError
from sqlalchemy import Engine

from app.ingest import duties
from app.ingest.duties import Operator
from app.ingest.run import RunOutcome, claim
from app.settings import Settings
from app.store.session import make_engine
from app.web.agent import access, server, writing
from app.web.agent import reading as tools_that_read
from app.web.agent.access import ADMIN, READ
from app.web.main import create_app
from tests.databases import empty_sqlite
from tests.ingest.test_duties import hold_offers
from tests.web import market
from tests.web.asking import ARGUMENTS, PUBLIC, contents

SCOPES = (READ, ADMIN, "prices", "admin", "prices:*", "PRICES:READ")


@contextmanager
def holding(scopes: list[str]) -> Iterator[None]:
    """Be somebody with a token of these scopes."""
    token = AccessToken(token="", client_id="test", scopes=scopes)
    before = auth_context_var.set(AuthenticatedUser(token))
    try:
        yield
    finally:
        auth_context_var.reset(before)


Attempt = Callable[[str, list[str]], bool]


@contextmanager
def attempting(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Attempt]]:
    """Give the tools, and what calls one with scopes and tells whether the database changed.

    A refused call raises AssertionError unless it names the scope that is missing. A scrape writes a run, and
    whatever was begun in the background has ended when the call is over.
    """
    market.fill(url, market=market.runs()[:3])
    engine = make_engine(url)
    hold_offers(engine)
    settings = Settings(DATABASE_URL=url, public_url=PUBLIC, oauth_issuer="https://id.example")
    seen: list[object] = []

    def scrape(engine: Engine, _settings: Settings, **asked: Any) -> tuple[RunOutcome, ...]:
        seen.append(get_access_token())
        claim(engine, asked["providers"][0], slot="asked", now=market.NOW)
        return ()

    monkeypatch.setattr(duties, "scrape", scrape)
    site = create_app(settings, clock=lambda: market.NOW)

    def tools_with(operator: Operator) -> Any:
        return server.Tools(site, settings, duties=operator)

    def attempt(name: str, scopes: list[str]) -> bool:
        before = contents(engine)
        refused = ""
        with Operator(settings, lambda: market.NOW) as operator, holding(scopes):
            try:
                tools_with(operator).answer(name, ARGUMENTS[name], base=f"{PUBLIC}/")
            except ToolError as error:
                refused = str(error)
        assert not any(seen), "the background knows the token"
        changed = contents(engine) != before
        assert not (refused and changed), f"{name} wrote, and then refused"
        if refused:
            raise PermissionError(refused)
        return changed

    try:
        with Operator(settings, lambda: market.NOW) as operator:
            yield tools_with(operator).tools, attempt
    finally:
        site.state.shared.engine.dispose()
        engine.dispose()


def check_tools(url: str, monkeypatch: pytest.MonkeyPatch, *, only: str = "") -> None:
    """Hold every tool that is there to its scope: nobody else may call it, and what it changes it says.

    With `only`, that one alone is called.
    """
    with attempting(url, monkeypatch) as (tools, attempt):
        assert set(tools) == set(ARGUMENTS)
        assert set(access.SCOPES) - {"read_resource"} == set(tools), "a tool without a scope"
        for name, tool in tools.items() if not only else [(only, tools[only])]:
            own = access.SCOPES[name]
            for scopes in ([], [each for each in SCOPES if each != own], *([each] for each in SCOPES)):
                if own not in scopes:
                    with pytest.raises(PermissionError, match=f"^{name} needs a token with the scope {own}"):
                        attempt(name, scopes)
            changed = attempt(name, [own])
            assert changed == (not tool.listed().annotations.read_only_hint), f"{name} changes the database"
            assert changed == (own == ADMIN)


def test_every_tool_is_refused_with_every_scope_but_its_own(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_tools(database_url, monkeypatch)


# What follows breaks the code on purpose. The faults are in Python, before and after any SQL, and the check
# that has to find them is the one above, which runs on each kind of database: here one kind is enough.


def changed_module(module: ModuleType, folder: Path, *, was: str, becomes: str, times: int = 1) -> ModuleType:
    """Give a module made from the text of another with one passage changed."""
    text = inspect.getsource(module)
    assert text.count(was) >= 1, was
    path = folder / f"changed_{module.__name__.rpartition('.')[2]}.py"
    path.write_text(text.replace(was, becomes, times), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


CHECK = '    call.access.require("{}")\n'


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_tool_without_its_check_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module = writing if name in {"start_scrape", "decide_quarantine"} else tools_that_read
    made = changed_module(module, tmp_path, was=CHECK.format(name), becomes="")
    monkeypatch.setattr(server, "WRITING" if module is writing else "READING", tools_in(made))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_tools(empty_sqlite(tmp_path), monkeypatch, only=name)


def tools_in(module: ModuleType) -> Any:
    return getattr(module, "WRITING", None) or module.READING


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_tool_without_an_entry_is_found_and_nobody_may_call_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scope = "ADMIN" if name in {"start_scrape", "decide_quarantine"} else "READ"
    made = changed_module(access, tmp_path, was=f'        "{name}": {scope},\n', becomes="")
    monkeypatch.setattr(server, "Access", made.Access)
    monkeypatch.setattr(access, "SCOPES", made.SCOPES)
    with pytest.raises(AssertionError, match="a tool without a scope"):
        check_tools(empty_sqlite(tmp_path), monkeypatch, only=name)
    with (
        holding([READ, ADMIN]),
        pytest.raises(ToolError, match=f"{name} has no scope, so nobody may call it."),
    ):
        made.Access(is_open=True).require(name)


@pytest.mark.parametrize("name", ["start_scrape", "decide_quarantine"])
def test_a_tool_that_writes_and_says_that_it_reads_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    was = f"    run={name},\n    is_read_only=False,\n"
    made = changed_module(writing, tmp_path, was=was, becomes=was.replace("False", "True"))
    monkeypatch.setattr(server, "WRITING", made.WRITING)
    with pytest.raises(AssertionError, match=f"{name} changes the database"):
        check_tools(empty_sqlite(tmp_path), monkeypatch, only=name)


LAST = {
    "start_scrape": "    return _said(call, _duties(call).start_scrape(provider))\n",
    "decide_quarantine": "    return _said(call, sentence)\n",
}


@pytest.mark.parametrize("name", LAST)
def test_a_tool_that_writes_before_it_checks_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    late = f"    said = {LAST[name].strip().removeprefix('return ')}\n{CHECK.format(name)}    return said\n"
    made = changed_module(writing, tmp_path, was=CHECK.format(name), becomes="")
    made = changed_module_again(made, was=LAST[name], becomes=late)
    monkeypatch.setattr(server, "WRITING", made.WRITING)
    with pytest.raises(AssertionError, match=f"{name} wrote, and then refused"):
        check_tools(empty_sqlite(tmp_path), monkeypatch, only=name)


def changed_module_again(module: ModuleType, *, was: str, becomes: str) -> ModuleType:
    assert module.__file__ is not None
    return changed_module(module, Path(module.__file__).parent, was=was, becomes=becomes)


def test_without_an_issuer_the_tools_that_write_are_not_there(tmp_path: Path) -> None:
    settings = Settings(DATABASE_URL=empty_sqlite(tmp_path), public_url=PUBLIC)
    with Operator(settings, lambda: market.NOW) as operator:
        tools = server.Tools(create_app(settings), settings, duties=operator)
        assert not {"start_scrape", "decide_quarantine"} & set(tools.tools)
        with holding([READ, ADMIN]), pytest.raises(ToolError, match="There is no tool 'start_scrape'"):
            tools.answer("start_scrape", ARGUMENTS["start_scrape"], base=f"{PUBLIC}/")


def test_without_an_issuer_reading_is_open_and_writing_is_not() -> None:
    nobody = access.Access(is_open=True)
    nobody.require("claims")
    with pytest.raises(ToolError, match="start_scrape needs a token with the scope prices:admin"):
        nobody.require("start_scrape")
