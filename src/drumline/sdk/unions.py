"""Unions that msgspec cannot read by itself, such as of two dataclasses, or of a path and a number.

Such a union is replaced by a class of its own, which msgspec leaves to its hooks. A value is read as the first member
that is written again as exactly what was read, or else as the first that can read it.
"""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import or_
from types import NoneType
from typing import Any, ClassVar, Final, cast

import msgspec

from drumline.core.codec import explain

_REFERENCE: Final = "#/$defs/"


class _TakesAny(type):
    """msgspec asks whether what a hook has read is an instance of the annotated type: of a union it always is."""

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Choice(metaclass=_TakesAny):
    """Stands for a union in an annotation; `members` are the types of the union, without None."""

    members: ClassVar[tuple[Any, ...]] = ()


def readable_union(members: tuple[Any, ...], dec_hook: Callable[[Any, Any], Any]) -> Any:
    """Return a union as msgspec can read it: as it is, or with a `Choice` in place of what cannot be told apart."""
    union = reduce(or_, members, NoneType if NoneType in members else members[0])
    try:
        msgspec.json.Decoder(union, dec_hook=dec_hook)
    except NameError:  # a class that is defined further down
        return union
    except TypeError:
        choice = _choice_of(tuple(member for member in members if member is not NoneType))
        return choice | None if NoneType in members else choice
    return union


def is_choice(type_: Any) -> bool:
    """Tell whether a type stands for a union."""
    return isinstance(type_, type) and issubclass(type_, Choice)


def read_choice(
    type_: type[Choice], value: Any, *, dec_hook: Callable[[Any, Any], Any], enc_hook: Callable[[Any], Any]
) -> Any:
    """Return a value, as JSON has it, as the member of the union that fits it best; raises `TypeError`."""
    readable: list[Any] = []
    refused: list[str] = []
    for member in type_.members:
        try:
            read = msgspec.convert(value, member, dec_hook=dec_hook, str_keys=True)
        except msgspec.ValidationError as error:
            refused.append(str(explain(error, field=_name_of(member), type=member)))
            continue
        if msgspec.to_builtins(read, enc_hook=enc_hook, str_keys=True) == value:
            return read
        readable.append(read)
    if readable:
        return readable[0]
    raise TypeError(f"fits none of {type_.__name__}: {'; '.join(refused)}")


def describe_choice(type_: type[Choice], schema_hook: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema of a union, complete in itself."""
    schemas, definitions = msgspec.json.schema_components(type_.members, schema_hook=schema_hook)
    return {"anyOf": [_inlined(schema, definitions, ()) for schema in schemas]}


@cache
def _choice_of(members: tuple[Any, ...]) -> type[Choice]:
    for member in members:
        msgspec.json.Decoder(member)  # raises what is wrong with the member itself
    name = " | ".join(_name_of(member) for member in members)
    return cast("type[Choice]", _TakesAny(name, (Choice,), {"members": members}))


def _name_of(member: Any) -> str:
    return member.__qualname__ if isinstance(member, type) and not hasattr(member, "__args__") else str(member)


def _inlined(schema: Any, definitions: Mapping[str, Any], above: tuple[str, ...]) -> Any:
    """Return a schema with what it refers to in its place; a class within itself may be anything there."""
    if isinstance(schema, list):
        return [_inlined(each, definitions, above) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "")
    if not isinstance(name, str) or not name.startswith(_REFERENCE):
        return {key: _inlined(each, definitions, above) for key, each in schema.items()}
    name = name.removeprefix(_REFERENCE)
    return {} if name in above else _inlined(definitions[name], definitions, (*above, name))
