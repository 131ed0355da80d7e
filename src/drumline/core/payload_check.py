"""Checking payloads by the JSON Schema that workers publish.

A schema is compiled into a msgspec type, so that a check is one pass in C and costs no more than reading the payload.
Workers of others publish what they like: only keywords that cannot take long are looked at (no `format`, no `pattern`
but those of built-in tasks), a schema is compiled down to `DEEPEST` levels and `MOST_NODES` parts, of which each value
of an `enum` is one, and whatever is beyond that or not understood accepts everything.
"""

from typing import Annotated, Any, Final, Literal, Union, cast

import msgspec
from msgspec import Meta, Struct

from drumline.core.codec import explain
from drumline.core.errors import Invalid
from drumline.core.names import PHONE, SENDER
from drumline.core.references import MARK

DEEPEST: Final = 24
MOST_NODES: Final = 500
MOST_COMPARED: Final = 100
"""Parts of a schema among which the nearest to a wrong word is looked for."""
LARGEST_LIMIT: Final = 1 << 62
"""What a limit of a schema may be: msgspec takes no larger ones."""
MOST_COMPILED: Final = 20_000
"""Parts of all schemas whose compiled form is remembered."""
COMPILE_COST: Final = 8
"""Bytes of JSON that could be read while a byte of a schema is compiled, about."""

_ANY: Final = msgspec.json.Decoder()
_LIMITS: Final = {
    "integer": {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"},
    "number": {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"},
    "string": {"minLength": "min_length", "maxLength": "max_length"},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
    "object": {"minProperties": "min_length", "maxProperties": "max_length"},
}
"""Keywords of a schema as msgspec knows them, by the type that they limit."""
PATTERNS: Final = frozenset({PHONE, SENDER})
"""Those of the built-in tasks: of others it is not known how long they take."""
_SIMPLE: Final[dict[str, Any]] = {"null": None, "boolean": bool, "integer": int, "number": float, "string": str}

Node = dict[str, Any]
Detail = Literal["full", "brief", "none"]
"""How much an error tells: what would have been right too, the field and the reason, or only that it does not fit."""
Decoder = msgspec.json.Decoder[Any]


class PayloadCheck(Struct, frozen=True):
    """Tells whether payloads fit the schema of a type, or the one before it where two versions of its code may run."""

    schema: bytes
    former: bytes | None = None
    detail: Detail = "full"

    @property
    def weight(self) -> int:
        """What has to be compiled before payloads can be checked, as bytes of JSON."""
        schemas = (self.schema,) if self.former is None else (self.schema, self.former)
        return COMPILE_COST * sum([len(schema) for schema in schemas if schema not in COMPILED])

    def check(self, payload: bytes) -> bool:
        """Raise `Invalid` naming the field that does not fit; tell whether every byte was read as JSON meanwhile.

        Left to the worker: payloads with references, which are filled in later, and arrays, whose arguments go by
        position.
        """
        compiled = COMPILED.of(self.schema)
        if compiled.decoder is None:
            return False
        try:
            compiled.decoder.decode(payload)
        except (msgspec.ValidationError, RecursionError) as error:
            if MARK in payload or payload.lstrip()[:1] == b"[":
                return False
            if self.former is None or not _fits(COMPILED.of(self.former).decoder, payload):
                raise self._told(error, compiled) from error
            return False
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False  # not JSON at all, which is for others to tell
        return compiled.reads_all

    def _told(self, error: Exception, compiled: "Compiled") -> Invalid:
        if self.detail == "none":
            return Invalid("does not fit the task's parameters", field="payload")
        # To look for what was meant among very many names takes long.
        is_full = self.detail == "full" and compiled.parts <= MOST_COMPARED
        return explain(error, field="payload", type=compiled.decoder.type if is_full and compiled.decoder else None)


def _fits(decoder: Decoder | None, payload: bytes) -> bool:
    # A former schema that accepts everything would make the newer one mean nothing.
    if decoder is None:
        return False
    try:
        decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # it may read more of it than the newer one did
        return False
    return True


class CompiledSchemas:
    """The schemas that were compiled last, as many as have `most` parts together. Safe from any thread."""

    def __init__(self, *, most: int = MOST_COMPILED) -> None:
        self._most = most
        self._known: dict[bytes, Compiled] = {}

    def of(self, schema: bytes) -> "Compiled":
        """Return a schema, compiled."""
        known = self._known.get(schema)
        if known is None:
            known = self._known.setdefault(schema, _compiled(schema))
            self._make_room()
        return known

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, schema: bytes) -> bool:
        return schema in self._known

    def _make_room(self) -> None:
        # Jobs are checked in threads: each step here is one that no other thread can come in between.
        known = list(self._known.items())
        parts = sum(compiled.parts for _, compiled in known)
        for schema, compiled in known[:-1]:
            if parts <= self._most:
                return
            self._known.pop(schema, None)
            parts -= compiled.parts


class Compiled(Struct, frozen=True):
    """What a schema is compiled into."""

    decoder: Decoder | None = None
    """Reads payloads; None if the schema accepts everything, as far as it is understood."""
    reads_all: bool = False
    """Whether no part of a payload is skipped."""
    parts: int = 1


def _compiled(schema: bytes) -> Compiled:
    try:
        root = _ANY.decode(schema)
        compiler = _Compiler(root)
        type_ = compiler.type_of(root, 0)
        decoder = None if type_ is Any else msgspec.json.Decoder(type_)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Not a schema, or one that msgspec has no type for: the worker will look at its payloads itself.
        return Compiled()
    return Compiled(decoder, compiler.reads_all, MOST_NODES - compiler.left)


class _Compiler:
    """Makes a msgspec type of a schema; `Any` for what is not understood."""

    def __init__(self, root: Any) -> None:
        definitions = root.get("$defs") if isinstance(root, dict) else None
        self._definitions: dict[str, Any] = definitions if isinstance(definitions, dict) else {}
        self.left = MOST_NODES
        """How many parts it may still have."""
        self.reads_all = True
        self._enums: dict[int, Any] = {}
        """The type of each list of values: many parts may refer to one, and its values are parts only once."""

    def type_of(self, node: Any, depth: int) -> Any:
        """Return the type of what a part of the schema accepts."""
        self.left -= 1
        if depth > DEEPEST or self.left < 0 or not isinstance(node, dict):
            return Any
        if "$ref" in node:
            name = str(node["$ref"]).removeprefix("#/$defs/")
            return self.type_of(self._definitions.get(name), depth + 1)
        if "anyOf" in node:
            return self._union(node["anyOf"], depth)
        if "const" in node or "enum" in node:
            return _literal([node["const"]]) if "const" in node else self._enum(node["enum"])
        kind = node.get("type")
        if isinstance(kind, list):
            return self._union([{**node, "type": each} for each in kind], depth)
        return self._of_kind(kind, node, depth)

    def _of_kind(self, kind: Any, node: Node, depth: int) -> Any:
        if kind == "object":
            return self._object(node, depth)
        if kind == "array":
            return self._array(node, depth)
        return _limited(_SIMPLE[kind], node) if isinstance(kind, str) and kind in _SIMPLE else Any

    def _enum(self, values: Any) -> Any:
        if not isinstance(values, list):
            return Any
        if id(values) not in self._enums:
            type_ = _literal(values) if len(values) <= self.left else Any
            self.left -= 0 if type_ is Any else len(values)
            self._enums[id(values)] = type_
        return self._enums[id(values)]

    def _union(self, nodes: Any, depth: int) -> Any:
        if not isinstance(nodes, list) or not nodes:
            return Any
        types = [self.type_of(node, depth + 1) for node in nodes]
        if Any in types:
            return Any
        try:
            # Types are compared here, which takes as long as they are large: those that are one object only once.
            alike = {id(each): each for each in types}
            union: Any = Union[tuple(alike.values())]  # noqa: UP007 - one by one with | each is compared with all before
            msgspec.json.Decoder(union)
        except TypeError:  # such as two kinds of objects, which msgspec does not tell apart
            return Any
        return union

    def _array(self, node: Node, depth: int) -> Any:
        first = node.get("prefixItems")
        if isinstance(first, list):
            is_fixed = node.get("minItems") == node.get("maxItems") == len(first)
            return tuple[tuple(self.type_of(each, depth + 1) for each in first)] if is_fixed and first else list  # type: ignore[misc]
        return _limited(list[self.type_of(node.get("items"), depth + 1)], node)  # type: ignore[misc]

    def _object(self, node: Node, depth: int) -> Any:
        properties = node.get("properties")
        others = node.get("additionalProperties", True)
        if not isinstance(properties, dict) or not properties:
            if others is False:
                return msgspec.defstruct("payload", [], forbid_unknown_fields=True)
            return _limited(dict[str, self.type_of(others, depth + 1)], node)  # type: ignore[misc]
        wanted = node.get("required")
        required = set(wanted) if isinstance(wanted, list) else set()
        fields = []
        for number, (name, inner) in enumerate(properties.items()):
            type_ = self.type_of(inner, depth + 1)
            default: Any = {} if name in required else {"default": None}
            fields.append((f"field_{number}", type_, msgspec.field(name=name, **default)))
        self.reads_all = self.reads_all and others is False  # what a struct does not know it skips
        struct = msgspec.defstruct("payload", fields, kw_only=True, forbid_unknown_fields=others is False)
        msgspec.json.Decoder(struct)  # a name that no struct can have shows here, not in a union around it
        return struct


def _literal(values: list[Any]) -> Any:
    """Return the type of a few values; msgspec tells apart texts, whole numbers and null."""
    is_plain = values and all(type(each) in {str, int, type(None)} for each in values)
    return Literal[tuple(values)] if is_plain else Any


def _limited(type_: Any, node: Node) -> Any:
    """Return a type with the limits that a schema sets."""
    known = _LIMITS.get(cast("str", node.get("type")), {})
    limits: dict[str, Any] = {
        known[word]: value
        for word, value in node.items()
        if word in known and isinstance(value, int | float) and abs(value) <= LARGEST_LIMIT
    }
    if node.get("pattern") in PATTERNS and type_ is str:
        limits["pattern"] = node["pattern"]
    if not limits or type_ is None:
        return type_
    return Annotated[type_, Meta(**limits)]


COMPILED: Final = CompiledSchemas()
