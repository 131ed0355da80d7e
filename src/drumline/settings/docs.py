"""Descriptions of the settings, from their docstrings: for the reference page and `drumline config docs`."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from msgspec import Struct

from drumline.settings.fields import Secret

_NAMES: Final = {
    timedelta: "duration",
    Secret: "secret",
    str: "text",
    int: "number",
    float: "number",
    bool: "yes or no",
    Path: "path",
}


def field_docs(struct: type[Struct], room: str = "") -> Iterator[tuple[str, str]]:
    """Yield the docstring of every field, and of every struct inside; a field without one is an error."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    texts = {
        field.target.id: " ".join(doc.value.value.split())
        for field, doc in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
        and isinstance(doc.value.value, str)
    }
    for info in msgspec.structs.fields(struct):
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            yield info.name, inspect.getdoc(info.type) or ""
            yield from field_docs(info.type, f"{info.name}.")
        elif info.name in texts:
            yield room + info.name, texts[info.name]
        else:
            raise LookupError(f"{struct.__name__}.{info.name} has no docstring")


def type_words(type_: Any) -> str:
    """Return what kind of value a setting takes."""
    if isinstance(type_, type) and not get_args(type_):
        return _NAMES[type_]
    arguments = get_args(type_)
    if type(None) in arguments:
        return " or ".join(type_words(part) for part in arguments if part is not type(None))
    if all(isinstance(part, str) for part in arguments):
        return " or ".join(f"`{part}`" for part in arguments)
    return "list" if arguments[-1] is Ellipsis else type_words(arguments[0])
