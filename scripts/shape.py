"""Print measurements of the code: lines, files, the largest port, SQL files, a traced task, names to reconsider.

    python -m scripts.shape                 # the measurements
    python -m scripts.shape --words cli     # every vague first docstring line and class name of a package

They are signs of how easy the code is to change, not limits to enforce.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from scripts.task_trace import trace_one_task

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "drumline"
METAPHORS = re.compile(
    r"Desk|Door|Purse|Stocktaker|Courier|Postman|PostOffice|Reception|Letterhead|Patience|Guardian|Board|Holding|Standing"
)
VAGUE = re.compile(r"\b(whoever|somebody|nobody|is told|stands|word of|looks? after|goes? away)\b", re.IGNORECASE)


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Yield every module with its syntax tree."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def methods_of_ports() -> dict[str, int]:
    """Return how many methods each protocol of `ports/` has, with those that it inherits."""
    own: dict[str, tuple[int, list[str]]] = {}
    for path, tree in trees():
        if "ports" not in path.parts:
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                own[node.name] = (sum(isinstance(each, ast.AsyncFunctionDef) for each in node.body), bases)

    def count(name: str) -> int:
        methods, bases = own.get(name, (0, []))
        return methods + sum(map(count, bases))

    return {name: count(name) for name in own}


def setters() -> list[str]:
    """Return methods that have to be called before an object is used."""
    found = re.compile(r"(to be|must be|is) called before|before (anything|it) is used|once, before", re.IGNORECASE)
    return [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and found.search(ast.get_docstring(node) or "")
    ]


def only_passes_on(node: ast.AST) -> bool:
    """Tell whether a method does nothing but call one method of a part with its own parameters."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    call = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    if not isinstance(call, ast.Call) or not ast.unparse(call.func).startswith("self._"):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return ast.unparse(call.func).count(".") > 1 and all(isinstance(each, ast.Name) for each in given)


def passing_on() -> list[str]:
    """Return the methods of the engine's services that only pass on; its gateway is an adapter, and is left out."""
    return [
        f"{path.stem}.{node.name}"
        for path, tree in trees()
        if path.parent.name == "engine" and path.stem != "gateway"
        for node in ast.walk(tree)
        if only_passes_on(node)
    ]


def two_meanings() -> dict[str, list[str]]:
    """Return class names that several rooms define, with their files.

    A port and the classes of `stores` that implement it are one concept, with one name.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    rooms = {name: [re.sub(r"^(ports|stores)/.*", "store", place) for place in found] for name, found in places.items()}
    return {name: places[name] for name in sorted(places) if len(set(rooms[name])) > 1}


def print_words(package: str) -> None:
    """Print what to reconsider in the names and first docstring lines of a package."""
    for path, tree in trees():
        if package not in path.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                line = (ast.get_docstring(node) or "").partition("\n")[0]
                if VAGUE.search(line) or (isinstance(node, ast.ClassDef) and METAPHORS.search(node.name)):
                    print(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {line}")


def main() -> None:
    """Print each measurement on a line."""
    if sys.argv[1:2] == ["--words"]:
        print_words(sys.argv[2])
        return
    modules = list(trees())
    classes = [node.name for _, tree in modules for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    first_lines = [
        (ast.get_docstring(node) or "").partition("\n")[0]
        for _, tree in modules
        for node in ast.walk(tree)
        if isinstance(node, documented)
    ]
    ports = methods_of_ports()
    largest = max(ports, key=lambda name: ports[name])
    statements = [path for path in SOURCE.rglob("*.sql") if "migrations" not in path.parts]
    metaphors = sorted({name for name in classes if METAPHORS.search(name)})
    print(f"Python in src            {sum(len(path.read_text().splitlines()) for path, _ in modules):,} lines")
    print(f"                         {len(modules)} files")
    print(f"SQL without migrations   {len(statements)} files")
    print(f"largest port             {ports[largest]} methods ({largest})")
    task = trace_one_task()
    print(f"one task, embedded       {task.functions} functions in {task.files} files")
    print(
        f"frames to the driver     claim {task.claim}, settle {task.settle}, and {task.writer} in the writer's thread"
    )
    print(f"setters before use       {len(setters())} {', '.join(setters())}")
    print(f"engine only passes on    {len(passing_on())}: {', '.join(passing_on())}")
    shared = two_meanings()
    print(f"names of two meanings    {len(shared)}")
    for name, places in shared.items():
        print(f"                         {name}: {', '.join(places)}")
    print(f"metaphors in class names {len(metaphors)}: {', '.join(metaphors)}")
    print(f"vague first docstrings   {sum(bool(VAGUE.search(line)) for line in first_lines)} of {len(first_lines)}")


if __name__ == "__main__":
    main()
