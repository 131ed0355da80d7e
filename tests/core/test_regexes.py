"""No regular expression of the project takes more time than grows with the text, whatever the text is."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path
from re import _constants as op
from re import _parser as parser
from typing import Any

import pytest

import drumline
from tests.harness.cost import seconds

ROOT = Path(drumline.__file__).parent
METHODS: dict[str, Callable[[Any, Any], object]] = {
    "match": lambda p, t: p.match(t),
    "fullmatch": lambda p, t: p.fullmatch(t),
    "search": lambda p, t: p.search(t),
    "sub": lambda p, t: p.sub(t[:0], t),
    "split": lambda p, t: p.split(t),
    "findall": lambda p, t: p.findall(t),
    "finditer": lambda p, t: sum(1 for _ in p.finditer(t)),
}
FUNCTIONS = {*METHODS, "compile"}
BUILT = {
    ("core/masking.py", "|".join(map(re.escape, ["secret", "secrets", "s3cr3t"]))),
    ("stores/postgres/statements.py", r"^(?:WITH )?(part AS .*?^\))"),
}
"""What is put together from values when it is needed, with such values: literals of secrets; our own statements."""
SMALL = 16_000
LONG_SECONDS = 0.08
MOST_TEXTS = 150


@cache
def expressions() -> dict[tuple[str, str, int], set[str]]:
    """Return every expression by file, with its flags and the methods that it is used by."""
    sources = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    used = _methods_by_name(sources)
    found: dict[tuple[str, str, int], set[str]] = {}
    for file, tree in sources.items():
        for call, names in _calls(tree):
            for pattern in _patterns(file, call):
                method = call.func.attr  # type: ignore[attr-defined]
                methods = (
                    {method}
                    if method != "compile"
                    else set().union(*(used.get(_owned(file, name), set()) for name in names))
                )
                text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
                kind = pattern.flags & ~re.UNICODE.value
                found.setdefault((file, text, kind), set()).update(methods or METHODS)
    return found


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, list[str]]]:
    for node in ast.walk(tree):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and names and node.value is not None:
            yield from ((call, names) for call in _of_re(node.value))
    named = {id(call) for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
             for call in _of_re(node.value)}  # fmt: skip
    yield from ((call, []) for call in _of_re(tree) if id(call) not in named)


def _of_re(node: ast.AST) -> Iterator[ast.Call]:
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in FUNCTIONS and ast.unparse(call.func.value) == "re":
            yield call


def _patterns(file: str, call: ast.Call) -> list["re.Pattern[Any]"]:
    name = "drumline." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    known = vars(importlib.import_module(name))
    flags = [arg for arg in (*call.args[1:], *(word.value for word in call.keywords)) if "re." in ast.unparse(arg)]
    try:
        values = [eval(ast.unparse(node), dict(known)) for node in (call.args[0], *flags)]
    except NameError:
        made = [pattern for where, pattern in BUILT if where == file]
        assert made, f"{file}:{call.lineno}: say in BUILT what this expression may be made of"
        return [re.compile(pattern, re.MULTILINE | re.DOTALL) for pattern in made]
    return [values[0] if isinstance(values[0], re.Pattern) else re.compile(*values)]


def _methods_by_name(sources: dict[str, ast.Module]) -> dict[str, set[str]]:
    used: dict[str, set[str]] = {}
    for file, tree in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                either = (node.value.body, node.value.orelse) if isinstance(node.value, ast.IfExp) else (node.value,)
                for name in (one.id for one in either if isinstance(one, ast.Name)):
                    used.setdefault(_owned(file, name), set()).add(node.attr)
    return used


def _owned(file: str, name: str) -> str:
    """Return what a name is known as: a private one belongs to its file."""
    return f"{file}:{name}" if name.startswith("_") else name


# -- texts that an expression may be slow at, made from its own parts


def attacks(pattern: str, flags: int) -> Iterator[str]:
    """Yield short texts to repeat: what the parts of an expression match, alone, in pairs, and after what precedes."""
    tree = parser.parse(pattern, flags)
    repeats = list(_repeats(tree, ""))
    pieces = list(dict.fromkeys(piece for _, each in repeats for piece in each if piece)) or ["a"]
    befores = list(dict.fromkeys(before for before, _ in repeats))
    yield from _distinct(
        [*pieces, *(before + piece for before, each in repeats for piece in each), *befores]
        + [a + b for a, b in product(pieces, repeat=2)]
    )


def _distinct(texts: list[str]) -> Iterator[str]:
    return islice((text for text in dict.fromkeys(texts) if text), MOST_TEXTS)


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, list[str]]]:
    """Yield for each repeated part a text that leads to it, and texts that it matches once."""
    for kind, value in tree:
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            if value[1] > 8:
                yield before, _samples(value[2])
            yield from _repeats(value[2], before)
        elif kind in {op.SUBPATTERN, op.ATOMIC_GROUP}:
            yield from _repeats(value[-1] if kind is op.SUBPATTERN else value, before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        before += (_samples([(kind, value)]) or [""])[0]


def _samples(tree: Any) -> list[str]:
    texts = [""]
    for kind, value in tree:
        texts = [text + each for text in texts for each in _sample(kind, value)][:6]
    return texts


def _sample(kind: Any, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        return [text * max(value[0], 1) for text in _samples(value[2])]
    if kind is op.SUBPATTERN:
        return _samples(value[-1])
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in _samples(branch)][:6]
    return [chr(code) for code in _SIGNS if _one(kind, value, code)][:4] or [""]


_SIGNS = [*b"a0 .-\\\"'`/:@_,Z\n\t\r%!~\x00[]{}()"]


def _one(kind: Any, value: Any, code: int) -> bool:
    if kind is op.ANY:
        return True
    if kind is op.NOT_LITERAL:
        return bool(code != value)
    if kind is not op.IN:
        return False
    rest = [item for item in value if item[0] is not op.NEGATE]
    return (len(rest) < len(value)) is not any(_member(item, code) for item in rest)


def _member(item: Any, code: int) -> bool:
    kind, value = item
    if kind is op.LITERAL:
        return bool(code == value)
    if kind is op.RANGE:
        return bool(value[0] <= code <= value[1])
    sign = chr(code)
    is_in = {"DIGIT": sign.isdigit(), "SPACE": sign.isspace(), "WORD": sign.isalnum() or sign == "_"}
    name = str(value).removeprefix("CATEGORY_").removeprefix("UNI_")
    return not is_in[name.removeprefix("NOT_")] if name.startswith("NOT_") else is_in[name]


ENDS = ("", "\n", "!\x00")


def test_every_expression_is_found() -> None:
    assert len(expressions()) > 80
    assert any(file == "core/fingerprint.py" for file, _, _ in expressions())


ROOMS = sorted({path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS)  # several, so that they are shared out and none takes long
@pytest.mark.timeout(600)  # it tries each expression with many texts
def test_no_expression_takes_more_time_than_grows_with_the_text(room: str) -> None:
    slow = [
        (file, pattern, method, text)
        for (file, pattern, flags), methods in expressions().items()
        if Path(file).parts[0] == room
        for method, text in product(sorted(methods), attacks(pattern, flags))
        if is_slow(re.compile(pattern, flags), method, text)
    ]

    assert not slow


def test_a_quadratic_expression_would_be_found() -> None:
    pattern = re.compile(r" - at `(\$|key in )?(.*)`$")

    assert any(is_slow(pattern, "search", text) for text in attacks(pattern.pattern, 0))


def is_slow(pattern: "re.Pattern[str]", method: str, piece: str) -> bool:
    """Tell whether a text of so many repeated pieces takes far longer than four times what a quarter of it takes."""
    use = METHODS[method]
    for end in ENDS:
        text = piece * (SMALL // len(piece)) + end
        quarter = piece * (SMALL // 4 // len(piece)) + end
        if seconds(lambda: use(pattern, text)) < LONG_SECONDS:  # noqa: B023 - used at once
            continue
        whole = min(seconds(lambda: use(pattern, text)) for _ in range(3))  # noqa: B023
        part = min(seconds(lambda: use(pattern, quarter)) for _ in range(3))  # noqa: B023
        if whole > LONG_SECONDS and whole > 8 * part:
            return True
    return False
