"""The HTTP API as TypeScript, for `ui/src/api/types.ts`: the interface cannot ask for what is not there."""

import re
from typing import Any

from drumline._version import __version__
from drumline.api.openapi import document
from drumline.api.operation import Info
from drumline.api.routes import OPERATIONS
from drumline.core.limits import DEFAULT_LIMITS

INTRODUCTION = """\
// Made by `make reference` from the table of operations in src/drumline/api: change it there.
"""
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Schema = dict[str, Any]


def types_file() -> str:
    """Return the file: one interface per shape, and one entry per operation."""
    described = document(OPERATIONS, info=Info(version=__version__), limits=DEFAULT_LIMITS)
    shapes = [_shape(name, schema) for name, schema in described["components"]["schemas"].items()]
    operations = [
        _operation(method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return "\n".join([INTRODUCTION, *shapes, "export interface Operations {", *operations, "}", ""])


def _shape(name: str, schema: Schema) -> str:
    return f"{_doc(schema, '')}export type {name} = {_type(schema, '')};\n"


def _operation(method: str, path: str, operation: Schema) -> str:
    parameters = operation.get("parameters", [])
    body = next(iter(operation.get("requestBody", {}).get("content", {}).values()), None)
    answers = [
        media["schema"]
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for kind, media in answer.get("content", {}).items()
        if kind == "application/json"
    ]
    is_needed = operation.get("requestBody", {}).get("required", False)
    parts = {
        "params": _fields([p for p in parameters if p["in"] == "path"]),
        "query": _fields([p for p in parameters if p["in"] == "query"]),
        "body": "undefined" if body is None else _type(body["schema"], "  ") + ("" if is_needed else " | undefined"),
        "answer": " | ".join(dict.fromkeys(_type(schema, "  ") for schema in answers)) or "undefined",
    }
    lines = "".join(f"    {name}: {type_};\n" for name, type_ in parts.items())
    return f'  "{method} {path}": {{\n{lines}  }};'


def _fields(parameters: list[Schema]) -> str:
    fields = [
        f"{_name(p['name'])}{'' if p.get('required') else '?'}: {_type(p['schema'], '')}"
        + ("" if p.get("required") else " | undefined")
        for p in parameters
    ]
    return "{ " + "; ".join(fields) + " }" if fields else "Record<never, never>"


def _type(schema: Schema, indent: str) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "allOf" in schema and "type" not in schema:
        return " & ".join(_type(part, indent) for part in schema["allOf"])
    literals = [schema["const"]] if "const" in schema else schema.get("enum")
    if literals is not None:
        return " | ".join(_literal(value) for value in literals)
    kind = "object" if "properties" in schema else schema.get("type")
    choices = None if kind == "object" else schema.get("anyOf") or schema.get("oneOf")
    if isinstance(kind, list):
        choices = [{**schema, "type": one} for one in kind]
    if choices:
        return " | ".join(dict.fromkeys(_type(choice, indent) for choice in choices))
    made = {"array": _array, "object": _object}.get(str(kind))
    return made(schema, indent) if made else _PLAIN.get(str(kind), "unknown")


def _array(schema: Schema, indent: str) -> str:
    if "prefixItems" in schema:
        return "[" + ", ".join(_type(item, indent) for item in schema["prefixItems"]) + "]"
    item = _type(schema["items"], indent) if isinstance(schema.get("items"), dict) else "unknown"
    return f"({item})[]" if " " in item else f"{item}[]"


def _object(schema: Schema, indent: str) -> str:
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values, indent) if isinstance(values, dict) else 'unknown'}>"
    required = schema.get("required", [])
    inner = indent + "  "
    fields = "".join(
        f"{_doc(field, inner)}{inner}{_name(name)}{'' if name in required else '?'}: {_type(field, inner)}"
        f"{'' if name in required else ' | undefined'};\n"
        for name, field in schema["properties"].items()
    )
    return f"{{\n{fields}{indent}}}"


def _doc(schema: Schema, indent: str) -> str:
    text = schema.get("description")
    return f"{indent}/** {text.replace('*/', '* /')} */\n" if isinstance(text, str) and "\n" not in text else ""


def _name(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else f'"{name}"'


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
