"""Print the shape of the code as figures: lines, files, the largest port, SQL files, words to look at.

    python scripts/shape.py

They are signs of how easy the code is to change, not limits to enforce.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "drumline"
METAPHORS = re.compile(
    r"Desk|Door|KeyTurns|Courier|Postman|PostOffice|QueueMetrics|Reception|Letterhead|Patience|Guardian|Board|Holding|Standing"
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


def main() -> None:
    """Print each figure on a line."""
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
    print(f"class names used twice   {sum(count > 1 for count in Counter(classes).values())}")
    print(f"metaphors in class names {len(metaphors)}: {', '.join(metaphors)}")
    print(f"vague first docstrings   {sum(bool(VAGUE.search(line)) for line in first_lines)} of {len(first_lines)}")


if __name__ == "__main__":
    main()
