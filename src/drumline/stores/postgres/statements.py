"""The SQL of this backend, by name, with its named parameters as PostgreSQL wants them: by number."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from drumline.stores.sql_files import named
from drumline.stores.statements import shared

_COMMENT = re.compile(r"--[^\n]*")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_LIKE = re.compile(r"^-- like (\w+), with another (\w+)\n", re.MULTILINE)
_WITH = re.compile(r"^-- with the (\w+) of (\w+)\n", re.MULTILINE)


class Statement:
    """One statement: `text` has $1, $2 … for the parameters in `names`."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        body = _COMMENT.sub("", source)
        self.names = tuple(dict.fromkeys(_PARAMETER.findall(body)))
        numbers = {parameter: number for number, parameter in enumerate(self.names, 1)}
        # The name comes first, where an operator sees it in pg_stat_activity.
        self.text = f"/* drumline {name} */ " + _PARAMETER.sub(lambda match: f"${numbers[match[1]]}", body).strip()

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the values in the order of their numbers; a name too many or too few is an error."""
        if len(values) != len(self.names):
            wrong = sorted(values.keys() ^ set(self.names))
            raise TypeError(f"{self.name} does not take these parameters, or lacks them: {', '.join(wrong)}")
        return [values[name] for name in self.names]


class Statements:
    """Every statement, by name."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._statements = {name: Statement(name, _whole(name, files)) for name in files}

    def __getitem__(self, name: str) -> Statement:
        return self._statements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)


def _whole(name: str, files: Mapping[str, str]) -> str:
    """Return a statement, with what it has from another.

    One that says `-- like another, with another part` is the other with a part of the WITH of its own; one that says
    `-- with the part of another` has only that part from the other.
    """
    source = files[name]
    if like := _LIKE.search(source):
        other, part = like.groups()
        return files[other].replace(_part(part, other, files), source[like.end() :].strip())
    if taken := _WITH.search(source):
        part, other = taken.groups()
        return f"WITH {_part(part, other, files)}\n{source[taken.end() :]}"
    return source


def _part(part: str, name: str, files: Mapping[str, str]) -> str:
    """Return the part of that name of the WITH of a statement."""
    found = re.findall(rf"^(?:WITH )?({part} AS .*?^\))", files[name], re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{name} has {len(found)} parts {part}")
    whole: str = found[0]
    return whole


SQL: Final = Statements({**named("drumline.stores.postgres"), **shared("postgres")})
