"""Reading a job from a file: JSON, or YAML where its parser is installed. A name that is there twice is refused."""

import json
import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drumline.cli.streams import read_stdin
from drumline.core.errors import Invalid

_TASK = re.compile(r"tasks\.([^.\[]+)\.?(.*)")
YAML_ENDINGS = frozenset({".yaml", ".yml"})


def read_job(file: str) -> dict[str, Any]:
    """Return the job in a file, or on standard input for `-`; raises `Invalid` saying what is wrong with it."""
    is_yaml = Path(file).suffix.lower() in YAML_ENDINGS
    text = read_stdin("the job") if file == "-" else _text_of(file)
    with naming(file):
        job = _from_yaml(text) if is_yaml else _from_json(text)
    if not isinstance(job, dict):
        raise Invalid(f"{_named(file)} must hold one object, with the job's name and tasks")
    return job


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let what is wrong with a job inside the block be told with its file and task."""
    try:
        yield
    except Invalid as error:
        where, field = [_named(file)], error.field or ""
        if found := _TASK.fullmatch(field):
            where.append(f"task {found[1]}")
            field = found[2]
        if field and not error.message.startswith(field):
            where.append(field)
        raise Invalid(": ".join((*where, error.message)), code=error.code) from error


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}") from error


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except ValueError as error:
        raise Invalid(f"is not JSON: {error}") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Invalid(f"an object has {twice!r} twice")
    return found


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise Invalid("needs a parser: pip install 'drumline[server]', or write it as JSON") from error

    class Loader(yaml.SafeLoader):
        """The safe one, but that a key which is there twice is no accident to pass over."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            twice = next((key for key in keys if keys.count(key) > 1), None)
            if twice is not None:
                raise Invalid(f"an object has {twice!r} twice, at line {node.start_mark.line + 1}")
            return super().construct_mapping(node, deep=deep)

    try:
        # As JSON and back: dates become the texts that the API takes, and what JSON has not is refused here.
        plain = json.dumps(yaml.load(text, Loader), default=_as_text, allow_nan=False)  # noqa: S506 - a SafeLoader
        return json.loads(plain)
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise Invalid(f"is not YAML that JSON can say: {' '.join(str(error).split())}") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number that JSON has")


def _as_text(value: Any) -> str:
    as_text = getattr(value, "isoformat", None)
    if as_text is None:
        raise TypeError(f"{value!r} is nothing that JSON has")
    return str(as_text())


def _named(file: str) -> str:
    return "standard input" if file == "-" else file
