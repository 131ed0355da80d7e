"""What SECURITY.md promises of the code itself."""

import ast
import re
from pathlib import Path

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


def offences(tree: ast.AST) -> list[str]:
    """Return what a module imports or calls that could run what it reads."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    executing = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in EXECUTING]
    unsafe = [call for call in calls if is_unsafe_yaml(call, tree)]
    imported = sorted({name.split(".")[0] for name in imports_of(tree)} & FORBIDDEN)
    return [*(f"import {name}" for name in imported), *map(ast.unparse, executing + unsafe)]


def test_nothing_that_is_read_can_run() -> None:
    found = [
        f"{source.relative_to(ROOT)}: {offence}"
        for source in SOURCES
        for offence in offences(ast.parse(source.read_text(encoding="utf-8")))
    ]

    assert len(SOURCES) > 100
    assert found == []


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


def test_each_kind_of_offence_would_be_found() -> None:
    tree = ast.parse(
        "def f():\n    from pickle import loads\n    import yaml, marshal\n    yaml.load(t, Loader)\n    eval(t)"
    )

    assert offences(tree) == ["import marshal", "import pickle", "eval(t)", "yaml.load(t, Loader)"]
