"""The SQL of this backend, by name, with its named parameters as PostgreSQL wants them: by number."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from drumline.backends.sql_files import SqlFiles

_COMMENT = re.compile(r"--[^\n]*")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_LIKE = re.compile(r"^-- like (\w+), with another (\w+)\n", re.MULTILINE)


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
            raise TypeError(f"{self.name}.sql does not take these parameters, or lacks them: {', '.join(wrong)}")
        return [values[name] for name in self.names]


class Statements:
    """Every statement, by name."""

    def __init__(self, files: SqlFiles) -> None:
        self._statements = {name: Statement(name, _whole(name, files)) for name in files}

    def __getitem__(self, name: str) -> Statement:
        return self._statements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)


def _whole(name: str, files: SqlFiles) -> str:
    """Return a statement; one that says `-- like another, with another part` has only that part of the WITH itself."""
    source = files[name]
    like = _LIKE.search(source)
    if like is None:
        return source
    part = re.compile(rf"^{like[2]} AS .*?^\)", re.MULTILINE | re.DOTALL)
    whole, count = part.subn(lambda _: source[like.end() :].strip(), files[like[1]])
    if count != 1:
        raise ValueError(f"{name}.sql replaces {like[2]} in {like[1]}.sql, where it is {count} times")
    return whole


SQL: Final = Statements(SqlFiles("drumline.backends.postgres"))
