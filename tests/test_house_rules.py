"""The rules that no linter has: how long things may be, how they are called, what the domain may import."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES_IN_A_FUNCTION = 60
MOST_LINES_IN_A_MODULE = 500
CODE = sorted(path for folder in ("app", "scrapers") for path in (ROOT / folder).rglob("*.py"))
ALL = sorted(
    [*CODE, ROOT / "hatch_build.py", *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
)

type_of_function = (ast.FunctionDef, ast.AsyncFunctionDef)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, type_of_function))


def place(path: Path, node: ast.stmt) -> str:
    """Say where something is, the way editors read it."""
    return f"{path.relative_to(ROOT)}:{node.lineno} {getattr(node, 'name', '')}"


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = {
        place(path, one): (one.end_lineno or 0) - one.lineno + 1 for path in ALL for one in functions(path)
    }
    assert len(lengths) > 100
    assert {where: lines for where, lines in lengths.items() if lines > MOST_LINES_IN_A_FUNCTION} == {}


def test_no_module_is_longer_than_a_person_holds_in_mind() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in ALL}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES_IN_A_MODULE} == {}


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_one_sentence_saying_what_it_is_for(path: Path) -> None:
    module = tree(path)
    docstring = ast.get_docstring(module) or ""
    assert not module.body or docstring.partition("\n\n")[0].rstrip().endswith(".")


def test_arguments_after_the_second_are_given_by_name() -> None:
    named = (place(path, one) for path in CODE for one in functions(path) if takes_too_many_by_position(one))
    assert list(named) == []


def takes_too_many_by_position(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether a caller may pass a third argument without its name; click and FastAPI call their own."""
    if function.name.startswith("_") or any(isinstance(one, ast.Call) for one in function.decorator_list):
        return False
    by_position = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return len([name for name in by_position if name not in {"self", "cls"}]) > 2


def test_a_dataclass_is_slotted_and_frozen_or_says_beside_it_why_it_changes() -> None:
    loose = [
        place(path, node)
        for path in CODE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
        for line in decorator_lines(path, node, name="dataclass")
        if "slots=True" not in line or not ("frozen=True" in line or "#" in line)
    ]
    assert loose == []


def decorator_lines(path: Path, node: ast.ClassDef, *, name: str) -> list[str]:
    """Give the source of the class's decorators of this name, with the comments on their lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    spans = [
        (one.lineno - 1, one.end_lineno) for one in node.decorator_list if ast.unparse(one).startswith(name)
    ]
    return [" ".join(lines[first:last]) for first, last in spans]


def test_the_domain_imports_the_standard_library_and_itself() -> None:
    allowed = sys.stdlib_module_names
    foreign = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "app" / "domain").rglob("*.py")
        for name in imported(path)
        if name.partition(".")[0] not in allowed and not name.startswith("app.domain")
    ]
    assert foreign == []


def imported(path: Path) -> Iterator[str]:
    """Give the full name of each module a file imports, wherever in the file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
