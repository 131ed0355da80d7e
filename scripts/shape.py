"""Print measurements of the code: lines, files, the largest port, SQL files, a traced task, names to reconsider.

    python scripts/shape.py                 # the measurements
    python scripts/shape.py --words cli     # every vague first docstring line and class name of a package

They are signs of how easy the code is to change, not limits to enforce.
"""

import ast
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "drumline"
METAPHORS = re.compile(
    r"Desk|Door|KeyTurns|Courier|Postman|PostOffice|Reception|Letterhead|Patience|Guardian|Board|Holding|Standing"
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


class Trace:
    """The functions of this package that run on the event loop while one task is submitted, run and settled."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.frames: Counter[str] = Counter()
        self.is_on = False
        threading.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if not self.is_on or event != "call" or threading.current_thread().name != "drumline-embedded":
            return
        files = list(_files_of(frame))
        if not files or frame.f_code.co_filename != str(SOURCE / files[0]):
            return
        self.functions.add((files[0], frame.f_code.co_qualname.removesuffix(".<genexpr>").removesuffix(".<listcomp>")))
        if files[0] == "stores/sqlite/database.py":
            for step in ("claim", "settle"):
                if f"engine/{step}.py" in files:
                    self.frames[step] = max(self.frames[step], len(files))


def _files_of(frame: FrameType | None) -> Iterator[str]:
    """Yield the files of this package that are on the stack, the innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{SOURCE}/"):
            yield frame.f_code.co_filename.removeprefix(f"{SOURCE}/")
        frame = frame.f_back


def traced_task() -> Trace:
    """Run a task embedded; what an idle second of the same process calls is left out."""
    from drumline import Drumline  # noqa: PLC0415 - the other measurements need nothing installed

    trace = Trace()
    with tempfile.TemporaryDirectory() as folder:
        app = Drumline("shape", data=folder)
        task = app.task(name="nothing")(lambda: None)
        with app.running():
            task.submit().result(timeout=30)
            trace.is_on = True
            time.sleep(1)
            idle = set(trace.functions)
            task.submit().result(timeout=30)
            trace.is_on = False
    trace.functions -= idle
    return trace


def setters() -> list[str]:
    """Return methods that have to be called before an object is used."""
    found = re.compile(r"(to be|must be|is) called before|before (anything|it) is used|once, before", re.IGNORECASE)
    return [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and found.search(ast.get_docstring(node) or "")
    ]


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
    trace = traced_task()
    files = {file for file, _ in trace.functions}
    print(f"one task, embedded       {len(trace.functions)} functions in {len(files)} files")
    print(f"frames to the driver     claim {trace.frames['claim']}, settle {trace.frames['settle']}")
    print(f"setters before use       {len(setters())} {', '.join(setters())}")
    print(f"class names used twice   {sum(count > 1 for count in Counter(classes).values())}")
    print(f"metaphors in class names {len(metaphors)}: {', '.join(metaphors)}")
    print(f"vague first docstrings   {sum(bool(VAGUE.search(line)) for line in first_lines)} of {len(first_lines)}")


if __name__ == "__main__":
    main()
