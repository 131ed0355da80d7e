"""What SECURITY.md promises of the code itself."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

FORBIDDEN = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "jsonpickle"}
"""Modules that run whatever they read."""
YAML_LOADERS = {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all"}
EXECUTING = {"eval", "exec", "compile", "__import__"}


def imports_of(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_nothing_that_is_read_can_run(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]

    assert not {name.split(".")[0] for name in imports_of(tree)} & FORBIDDEN
    assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in EXECUTING]
    assert not [ast.unparse(call) for call in calls if is_unsafe_yaml(call, tree)]


def is_unsafe_yaml(call: ast.Call, tree: ast.AST) -> bool:
    name = ast.unparse(call.func)
    if not name.startswith("yaml.") or name.removeprefix("yaml.") not in YAML_LOADERS:
        return False
    safe = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["yaml.SafeLoader"]
    }
    return not {ast.unparse(argument) for argument in call.args[1:]} & {*safe, "yaml.SafeLoader"}


def test_no_program_is_started_through_a_shell_by_us() -> None:
    said = re.compile(r"shell\s*=\s*True|os\.system\(|os\.popen\(|create_subprocess_shell")

    assert [str(source) for source in SOURCES if said.search(source.read_text(encoding="utf-8"))] == []


def test_the_test_of_imports_would_see_one() -> None:
    tree = ast.parse("def f():\n    from pickle import loads\n    import yaml, marshal")

    assert {name.split(".")[0] for name in imports_of(tree)} & FORBIDDEN == {"pickle", "marshal"}
    assert is_unsafe_yaml(ast.parse("yaml.load(text, Loader)").body[0].value, tree)  # type: ignore[attr-defined]
