"""The reference of the Python SDK, made from signatures and docstrings of what `drumline` exports."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import drumline
from drumline import testing
from drumline.core.errors import DrumlineError
from drumline.sdk.cron import CronOptions
from drumline.sdk.dag import DagOptions
from drumline.sdk.node import NodeOptions
from drumline.sdk.options import BatchOptions, DecoratorOptions, Options

INTRODUCTION = """\
# Python SDK

<!-- Made by `make reference` from the docstrings in src/drumline/sdk: change them there. -->

Everything here is imported from `drumline`: `from drumline import Drumline`.
[How to write tasks in Python](../how-to/python.md) explains how the parts fit together. Methods whose name begins with
`a`, such as `asubmit`, are the async forms. Durations are seconds, text such as `"1h30m"`, or a `timedelta`.
"""
TESTING_INTRODUCTION = """\
# Test kit

<!-- Made by `make reference` from the docstrings in src/drumline/testing: change them there. -->

Everything here is imported from `drumline.testing`: `from drumline.testing import simulated`.
[How to test tasks](../how-to/testing.md) explains how the parts fit together. pytest finds the fixtures
`world` and `eager_world` by itself; the setting `drumline_app`, or a fixture of that name, says which app they run.
"""
TESTING = ("simulated", "Simulation", "World", "Submission", "Exploration", "EffectRepeated", "Stalled", "NoNetwork")
CHAPTERS: dict[str, tuple[str, ...]] = {
    "The app": ("Drumline", "Direct"),
    "Tasks": ("Task", "AsyncTask", "BatchTask", "Call", "Chain", "Mode", "Backoff", "NotifyTarget"),
    "Collapse": ("Debounce", "Throttle", "Singleton", "Unique"),
    "Inside a task": ("Context", "current", "inject", "secret", "Retry", "Snooze", "Permanent", "Cancelled"),
    "Hooks": ("TaskRequest", "Execution", "ExecutionEnd"),
    "Waiting for a task": ("TaskHandle", "as_completed", "TaskInfo", "TaskAttemptInfo", "Status"),
    "Jobs": ("Dag", "Node", "RunIf", "JobHandle", "JobInfo", "NodeInfo", "AttemptInfo", "JobStatus"),
}
"""The names in the order of the page; what is not here goes under "Errors" or "Also"."""
KEYWORDS: dict[str, tuple[tuple[str, Any], ...]] = {
    "Drumline": (
        ("`@app.task(…)`", DecoratorOptions),
        ("`@app.batch(…)`", BatchOptions),
        ("`@app.cron(…)` and `@app.every(…)`", CronOptions),
        ("`app.dag(…)`", DagOptions),
    ),
    "Task": (("`task.options(…)`", Options),),
    "Dag": (("`dag.options(…)`", NodeOptions),),
}
"""Keyword arguments that are declared apart from the method that takes them."""
HIDDEN = {
    "Drumline": {"aclient", "client", "client_at_hand", "schedules", "use", "using"},
    "AsyncTask": {"name", "submit", "asubmit", "call", "options", "handle", "request_for"},  # as for `Task`
    "BatchTask": {"name", "submit", "asubmit", "call", "options", "handle", "request_for"},
    "Task": {"request_for"},
    "Call": {"handle"},
    "Backoff": {"check"},
    "TaskHandle": {"client", "result_in_steps"},
    "Dag": {"encoder", "free_base", "keys_of", "put", "request"},
    "Node": {"result_plan"},
    "JobHandle": {"narrowed"},
    "NodeInfo": {"vertex"},
}
"""Methods without an underscore that are for other parts of the SDK."""
LONG = 80
"""Characters of parameters that still go on one line."""
FIRST_LINES = {"__call__", "__await__", "__iter__"}


def sdk_page() -> str:
    """Return the whole page."""
    placed = {name for names in CHAPTERS.values() for name in names}
    public = [name for name in drumline.__all__ if name != "__version__"]
    errors = tuple(name for name in public if name not in placed and _is_error(getattr(drumline, name)))
    others = tuple(name for name in public if name not in placed and name not in errors)
    chapters = CHAPTERS | {"Errors": errors} | ({"Also": others} if others else {})
    return INTRODUCTION + "".join(_chapter(title, names) for title, names in chapters.items())


def testing_page() -> str:
    """Return the page of the test kit."""
    return TESTING_INTRODUCTION + "".join(_entry(name, getattr(testing, name)) for name in TESTING)


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, DrumlineError)


def _chapter(title: str, names: tuple[str, ...]) -> str:
    if title == "Errors":
        return f"\n## {title}\n\n{_errors(names)}"
    return f"\n## {title}\n" + "".join(_entry(name, getattr(drumline, name)) for name in names)


def _errors(names: tuple[str, ...]) -> str:
    rows = "".join(
        f"| `{name}` | `{getattr(drumline, name).code}` | {_first(getattr(drumline, name))} |\n" for name in names
    )
    about = "All are `DrumlineError`s with a stable `code`, a `message`, and `field` where an input is at fault. "
    return (
        f"{about}Causes and cures: [errors](../errors/index.md).\n\n| error | code | meaning |\n|---|---|---|\n{rows}"
    )


def _first(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def _entry(name: str, thing: Any) -> str:
    if not isinstance(thing, type):
        return _function(name, thing)
    parts = [f"\n### `{name}`\n\n", *_constructor(name, thing), f"{_doc(thing)}\n"]
    parts += _fields(thing)
    for title, keywords in KEYWORDS.get(name, ()):
        parts.append(f"\n#### Arguments of {title}\n\n{_first(keywords)}\n\n{_keyword_table(keywords)}")
    parts += _methods(thing)
    return "".join(parts)


def _doc(thing: object) -> str:
    text = inspect.getdoc(thing)
    if not text:
        sys.exit(f"{thing!r} is public and has no docstring")
    return text


def _tree(thing: Any) -> Any:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    return tree


def _function(name: str, thing: Any) -> str:
    tree = _tree(thing)
    return f"\n### `{name}`\n\n```text\n{name}{_signature(tree, skip_self=False)}\n```\n\n{_doc(thing)}\n"


def _constructor(name: str, thing: type) -> Iterator[str]:
    tree = next((one for one in _tree(thing).body if _is_method(one) and one.name == "__init__"), None)
    is_made_by_people = name in {"Drumline", "Retry", "Snooze", "Permanent"}
    if tree is not None and is_made_by_people:
        yield f"```text\n{name}{_signature(tree, result=False)}\n```\n\n"


def _is_method(node: ast.AST) -> bool:
    """Tell whether a node is a method as it is written, not one of its overloads for type checkers."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return "overload" not in {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}


def _signature(tree: Any, *, skip_self: bool = True, result: bool = True) -> str:
    given = tree.args
    own = given.posonlyargs or given.args
    if skip_self and own:
        own.pop(0)
    if given.kwarg is not None and isinstance(given.kwarg.annotation, ast.Subscript):
        given.kwarg.annotation = None  # its fields are in a table
    if given.posonlyargs == [] and given.args == [] and given.defaults:
        given.defaults = []
    returns = f" -> {_unquoted(tree.returns)}" if result and tree.returns is not None else ""
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        one.annotation = ast.Name(_unquoted(one.annotation)) if one.annotation is not None else None
    text = re.sub(r"(?<=[\w\]])=(?=\S)", " = ", ast.unparse(given).removeprefix("/, ").removeprefix("/"))
    return f"({text}){returns}" if len(text) < LONG else f"(\n{_in_lines(given)}\n){returns}"


def _in_lines(given: ast.arguments) -> str:
    """Return parameters one below the other."""
    parts = re.split(r", (?=[\w*/]+(?::|,|$))", ast.unparse(given).removeprefix("/, ").removeprefix("/"))
    return "\n".join("    " + re.sub(r"(?<=[\w\]])=(?=\S)", " = ", part) + "," for part in parts)


def _unquoted(annotation: ast.expr) -> str:
    """Return an annotation without quotes around names of classes that are not imported."""
    return ast.unparse(annotation).replace('"', "").replace("'", "")


def _fields(thing: type) -> Iterator[str]:
    """Yield the table of a class's own fields, or of the values of an enumeration."""
    ours = [one for one in reversed(thing.__mro__) if _is_ours(one)]
    # A field that a class declares again keeps its first place.
    rows = {row[0].partition(":")[0]: row for one in ours for row in _rows(_tree(one).body)}.values()
    if rows:
        yield "\n| | |\n|---|---|\n" + "".join(f"| `{name}` | {text} |\n" for name, text in rows)


def _rows(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node, following in pairwise([*body, ast.Pass()]):
        text = _text_of(following)
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and not node.target.id.startswith(("_", "on_"))
            and not ast.unparse(node.annotation).startswith("ClassVar")
        ):
            type_, note = _parted(node.annotation)
            yield f"{node.target.id}: {_plain(type_)}", text or note
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            yield f"{node.targets[0].id} = {ast.unparse(node.value)}", text


def _parted(annotation: ast.expr) -> tuple[ast.expr, str]:
    """Return the type of a field, and the sentence that `Annotated` notes about it, if any."""
    is_noted = isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated"
    if not is_noted:
        return annotation, ""
    type_, *notes = annotation.slice.elts  # type: ignore[attr-defined]
    texts = [one for note in notes if isinstance(note, ast.Call) for one in note.args if isinstance(one, ast.Constant)]
    return type_, next((str(one.value) for one in texts if isinstance(one.value, str)), "")


_READ_AS = {"Time": "datetime", "WorkerIdText": "str", "OutcomeWord": "str"}
"""Names of types in `core/views.py`, and what users of the SDK get."""


class _Bare(ast.NodeTransformer):
    """Takes the notes off types, and gives the types that users of the SDK get."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Return the type that `Annotated` is about."""
        self.generic_visit(node)
        return _parted(node)[0]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the type that a name means."""
        return ast.Name(_READ_AS.get(node.id, node.id))


def _plain(annotation: ast.expr) -> str:
    return ast.unparse(_Bare().visit(annotation)).replace("|", "or").replace('"', "").replace("'", "")


def _text_of(node: ast.AST) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return " ".join(node.value.value.split()).replace("|", "\\|") if is_text else ""  # type: ignore[attr-defined]


def _keyword_table(keywords: Any) -> str:
    rows = list(_rows(_tree(keywords).body))
    if silent := [name for name, text in rows if not text]:
        sys.exit(f"{keywords.__name__}: {', '.join(silent)} have no docstring")
    return "| argument | meaning |\n|---|---|\n" + "".join(f"| `{name}` | {text} |\n" for name, text in rows)


def _methods(thing: type) -> Iterator[str]:
    seen = set(HIDDEN.get(thing.__name__, ()))
    for one in thing.__mro__:
        for node in _tree(one).body if _is_ours(one) else ():
            is_shown = _is_method(node) and (not node.name.startswith("_") or node.name in FIRST_LINES)
            if is_shown and node.name not in seen and ast.get_docstring(node):
                seen.add(node.name)
                yield _method(thing.__name__, node)


def _is_ours(one: type) -> bool:
    return one.__module__.startswith("drumline.") and not one.__module__.startswith("drumline.core.errors")


def _method(owner: str, node: Any) -> str:
    decorators = {ast.unparse(one) for one in node.decorator_list}
    is_value = bool(decorators & {"property", "cached_property"})
    start = "await " if isinstance(node, ast.AsyncFunctionDef) and "asynccontextmanager" not in decorators else ""
    shown = f"{node.name}: {_unquoted(node.returns)}" if is_value else f"{start}{node.name}{_signature(node)}"
    return f"\n#### `{owner}.{node.name}`\n\n```text\n{shown}\n```\n\n{ast.get_docstring(node)}\n"
