"""Named statements that the stores share: `sql/<aggregate>.sql`, in PostgreSQL's dialect.

`-- name: get_key` begins a statement for every store, `-- name: get_key (sqlite)` one for SQLite only. SQLite gets the
text of the first kind after the rewrites below; whatever needs more than those has a text of its own. One of those that
says `-- GIVES one JSON list` gives all its rows as one text, which saves hand-overs of the interpreter lock.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from drumline.core.codec import encode
from drumline.stores.sql_files import statements

Dialect = Literal["postgres", "sqlite"]
_LISTS: Final = (list, tuple)

_COMMENT: Final = re.compile(r"--[^\n]*")
_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z]\w*)")
_NOW: Final = "coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)"
_UNNEST: Final = re.compile(r"unnest\(([^()]*)\)\s*AS (\w+) \(([^()]*)\)")
_LISTED: Final = re.compile(r":(\w+)::(\w+) \[\]")
_ANY: Final = re.compile(r"= any\(:(\w+)(?:::(\w+) \[\])?\)")
_ARRAY: Final = re.compile(r"= any\(\s*ARRAY\(\s*(SELECT [^()]*)\)\s*\)")
_HAS: Final = re.compile(r"(?<!\w)(\w++\.\w++) \? :(\w+)")
_CAST: Final = re.compile(r"::\w+(?: \[\])?")
_LOCK: Final = re.compile(r"\bFOR (?:NO KEY )?(?:UPDATE|SHARE)(?: OF \w+)?(?: SKIP LOCKED)?")
_RETURNING: Final = re.compile(r"\bRETURNING\b[^()]*\Z")
_QUALIFIER: Final = re.compile(r"\b[a-z]\w*\.(?=[a-z])")
_READS: Final = re.compile(r"\s*(?:SELECT\b|WITH\b(?!.*\b(?:INSERT|UPDATE|DELETE)\b))", re.DOTALL | re.IGNORECASE)


@cache
def shared(dialect: Dialect) -> Mapping[str, str]:
    """Return every shared statement for a dialect, by name; SQLite's are rewritten by `SqliteStatement`."""
    found: dict[str, str] = {}
    own: dict[str, str] = {}
    for name, only, text in statements("drumline.stores"):
        if only in {None, dialect}:
            kept = own if only else found
            if name in kept:
                raise ValueError(f"there are two statements {name}")
            kept[name] = text
    return found | own


class SqliteStatement:
    """A shared statement for SQLite: lists become JSON texts, several lists side by side one JSON list of rows."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._zipped: dict[str, tuple[str, ...]] = {}
        body = _COMMENT.sub("", source)
        self._given = frozenset(_PARAMETER.findall(body))
        self.text = self._rewritten(body)
        self._single = frozenset(_PARAMETER.findall(self.text)) - self._zipped.keys()
        self._has_bytes = "::bytea []" in body
        self.is_list = "-- GIVES one JSON list" in source
        self.is_read = _READS.match(self.text) is not None

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters; a name too many or too few is an error."""
        if values.keys() != self._given:
            wrong = sorted(values.keys() ^ self._given)
            raise TypeError(f"{self.name} does not take these parameters, or lacks them: {', '.join(wrong)}")
        if self._has_bytes:
            values = {name: _plain(value) for name, value in values.items()}
        bound = {name: _bound(values[name]) for name in self._single}
        for name, lists in self._zipped.items():
            bound[name] = encode(list(zip(*[values[one] for one in lists], strict=True))).decode()
        return bound

    def _rewritten(self, body: str) -> str:
        text = body.replace("drumline.", "").replace(_NOW, ":now")
        text = _UNNEST.sub(self._rows, text)
        text = _ANY.sub(_values, text)
        text = _ARRAY.sub(r"IN (\1)", text)
        text = _HAS.sub(r"EXISTS (SELECT 1 FROM json_each(\1) WHERE value = :\2)", text)
        text = text.replace("IS NOT DISTINCT FROM", "IS").replace("IS DISTINCT FROM", "IS NOT")
        text = _RETURNING.sub(lambda found: _QUALIFIER.sub("", found[0]), text)
        return _LOCK.sub("", _CAST.sub("", text)).strip()

    def _rows(self, found: "re.Match[str]") -> str:
        lists = _LISTED.findall(found[1])
        name = f"rows_{len(self._zipped)}"
        self._zipped[name] = tuple(one for one, _ in lists)
        columns = ", ".join(
            _value(f"json_extract(value, '$[{place}]')", kind) + f" AS {column.strip()}"
            for place, ((_, kind), column) in enumerate(zip(lists, found[3].split(","), strict=True))
        )
        return f"(SELECT {columns} FROM json_each(:{name})) AS {found[2]}"  # noqa: S608 - the text is our own


def _values(found: "re.Match[str]") -> str:
    name, kind = found.groups()
    return f"IN (SELECT {_value('value', kind)} FROM json_each(:{name}))"  # noqa: S608 - the text is our own


def _value(expression: str, kind: str | None) -> str:
    return f"unhex({expression})" if kind == "bytea" else expression


def _plain(value: Any) -> Any:
    """Return a list without bytes: in JSON they are hexadecimal."""
    if not isinstance(value, _LISTS):
        return value
    return [one.hex() if isinstance(one, bytes) else one for one in value]


def _bound(value: Any) -> Any:
    return encode(value).decode() if isinstance(value, _LISTS) else value


SQLITE_FUNCTIONS: Final[Mapping[str, tuple[int, Any]]] = {
    "unhex": (1, lambda text: None if text is None else bytes.fromhex(text)),
    "greatest": (-1, lambda *given: max((one for one in given if one is not None), default=None)),
    "least": (-1, lambda *given: min((one for one in given if one is not None), default=None)),
}
"""What PostgreSQL has and SQLite lacks: how many arguments each takes, and what it gives."""
