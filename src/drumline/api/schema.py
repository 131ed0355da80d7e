"""JSON Schema of our types, from what msgspec knows of them; `msgspec.Raw` is any JSON."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect as kinds

from drumline.core.field_schema import NOTE, NULL, Configured, Schema

_SIMPLE: Mapping[type[kinds.Type], Schema] = {
    kinds.AnyType: {},
    kinds.CustomType: {},  # `object`, which is how strict code spells Any
    kinds.RawType: {},
    kinds.NoneType: {"type": "null"},
    kinds.BoolType: {"type": "boolean"},
    kinds.DateTimeType: {"type": "string", "format": "date-time"},
    kinds.BytesType: {"type": "string", "format": "binary"},
}
_BOUNDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
}

_OF_THE_FIELD: Final = frozenset({"description", "examples", "default"})


class Schemas:
    """Writes schemas, and gathers the named ones as components.

    What the Python type of a field cannot say is in its `Meta` (`core/field_schema.py`), and for a whole struct in its
    class variable `SCHEMA`. `configured` has the values that differ between servers, by name.
    """

    def __init__(self, configured: Mapping[str, Any]) -> None:
        self.components: dict[str, Schema] = {}
        self._configured = configured

    def of(self, type_: Any) -> Schema:
        """Return the schema of a type; structs and enums become references."""
        return self._of(kinds.type_info(type_))

    def fields(self, struct: type[msgspec.Struct]) -> list[tuple[str, Schema, bool]]:
        """Return name, schema and whether it is required, for each field of a struct."""
        info = kinds.type_info(struct)
        if not isinstance(info, kinds.StructType):
            raise TypeError(f"{struct.__name__} is not a struct")
        return [(field.encode_name, self._field(field), field.required) for field in info.fields]

    def _of(self, info: kinds.Type) -> Schema:
        simple = _SIMPLE.get(type(info))
        if simple is not None:
            return dict(simple)
        if isinstance(info, kinds.Metadata):
            note = {**(info.extra_json_schema or {}), **(info.extra or {}).get(NOTE, {})}
            return _with_note(self._of(info.type), self._filled(note))
        return self._writer(info)(info)

    def _writer(self, info: kinds.Type) -> Callable[[Any], Schema]:
        writers: dict[type[kinds.Type], Callable[[Any], Schema]] = {
            kinds.StrType: lambda it: {"type": "string", **_bounds(it)},
            kinds.IntType: lambda it: {"type": "integer", **_bounds(it)},
            kinds.FloatType: lambda it: {"type": "number", **_bounds(it)},
            kinds.ListType: self._array,
            kinds.VarTupleType: self._array,
            kinds.DictType: lambda it: {"type": "object", "additionalProperties": self._of(it.value_type)},
            kinds.LiteralType: lambda it: {"enum": list(it.values)},
            kinds.EnumType: self._enum,
            kinds.UnionType: self._union,
            kinds.StructType: self._struct,
        }
        try:
            return writers[type(info)]
        except KeyError:
            raise TypeError(f"no schema is known for {info}") from None

    def _array(self, info: kinds.ListType | kinds.VarTupleType) -> Schema:
        return {"type": "array", "items": self._of(info.item_type)}

    def _enum(self, info: kinds.EnumType) -> Schema:
        name = info.cls.__name__
        self.components[name] = {"enum": [member.value for member in info.cls], **_described(info.cls)}
        return _reference(name)

    def _union(self, info: kinds.UnionType) -> Schema:
        choices = [self._of(choice) for choice in info.types]
        if {} in choices:
            return {}
        return _one_of(choices)

    def _struct(self, info: kinds.StructType) -> Schema:
        name = info.cls.__name__
        if name not in self.components:
            self.components[name] = {}  # stands in while its own fields are written, should they refer to it
            self.components[name] = self._object(info)
        return _reference(name)

    def _object(self, info: kinds.StructType) -> Schema:
        is_whole = getattr(info.cls, "IS_WRITTEN_WHOLE", False)
        properties = {field.encode_name: self._field(field, has_default=not is_whole) for field in info.fields}
        required = [
            field.encode_name for field in info.fields if field.required or (is_whole and not _may_be_unset(field))
        ]
        if info.tag_field is not None:
            properties = {info.tag_field: {"const": info.tag}, **properties}
            required = [info.tag_field, *required]
        schema: Schema = {"type": "object", **_described(info.cls), "properties": properties}
        if required:
            schema["required"] = required
        if info.forbid_unknown_fields:
            schema["additionalProperties"] = False
        return {**schema, **self._filled(vars(info.cls).get("SCHEMA", {}))}

    def _field(self, field: kinds.Field, *, has_default: bool = True) -> Schema:
        schema = self._of(field.type)
        if has_default and not field.required and field.default not in (None, msgspec.UNSET, msgspec.NODEFAULT):
            schema = {"default": _plain(field.default), **schema}
        return {word: value for word, value in schema.items() if value is not msgspec.UNSET}

    def _filled(self, schema: Any) -> Any:
        """Return a schema with the values of this server."""
        if isinstance(schema, Configured):
            value = self._configured[schema.name]
            return value if schema.text is None else schema.text.format(value)
        if isinstance(schema, dict):
            return {word: self._filled(value) for word, value in schema.items()}
        return [self._filled(each) for each in schema] if isinstance(schema, list) else schema


def _with_note(schema: Schema, note: Schema) -> Schema:
    """Return a type's schema with its note: in a union the sentence is for all choices, the rest for all but null."""
    choices = schema.get("anyOf", [])
    nothing = [NULL] if NULL in choices else []
    if "anyOf" in note:
        return _one_of([*note["anyOf"], *nothing]) | {word: note[word] for word in note if word != "anyOf"}
    if not choices:
        return {**schema, **note}
    outer = {word: value for word, value in note.items() if word in _OF_THE_FIELD}
    inner = {word: value for word, value in note.items() if word not in _OF_THE_FIELD}
    return {"anyOf": [{**choice, **inner} for choice in choices if choice != NULL] + nothing, **outer}


def _one_of(choices: list[Schema]) -> Schema:
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _may_be_unset(field: kinds.Field) -> bool:
    """Tell whether a field may be left out: msgspec does not count `UNSET` as a default."""
    return not field.required and field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT


def _plain(value: Any) -> Any:
    return msgspec.json.decode(bytes(value)) if isinstance(value, msgspec.Raw) else msgspec.to_builtins(value)


def _bounds(info: kinds.StrType | kinds.IntType | kinds.FloatType) -> Schema:
    found = {word: getattr(info, name, None) for name, word in _BOUNDS.items()}
    return {word: bound for word, bound in found.items() if bound is not None}


def _described(cls: type) -> Schema:
    text = inspect.getdoc(cls)
    return {"description": text} if text else {}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
