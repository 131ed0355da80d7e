"""Types of tasks as rows, the same in every store."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from drumline.core.session import SessionSpec
from drumline.core.task_type import EVERYBODY, StoredType, read_type, stored_defaults, stored_schema
from drumline.ports.task_types import TypeKey


class TypeRow(NamedTuple):
    """What a worker publishes of a type, as it is stored."""

    name: str
    defaults: str | None
    schema: str | None


def type_rows(spec: SessionSpec) -> list[TypeRow]:
    """Return the types of a worker, each once, in one order for all: so two workers cannot lock one another out."""
    named = {type_.name: type_ for type_ in spec.types}
    return [
        TypeRow(name, _text(stored_defaults(named[name].defaults)), _text(stored_schema(named[name].schema)))
        for name in sorted(named)
    ]


def owner_of(spec: SessionSpec) -> str:
    """Return the tenant under which a worker's types are stored."""
    return EVERYBODY if spec.tenant is None else spec.tenant


def types_for(wanted: Sequence[TypeKey], rows: Iterable[Any]) -> list[StoredType | None]:
    """Return for each key what was found: its own tenant's type before everybody's."""
    found = {(tenant, name): read_type(*kept) for tenant, name, *kept in rows}
    return [found.get(key) or found.get((EVERYBODY, key[1])) for key in wanted]


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()
