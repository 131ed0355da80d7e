"""The OpenAPI 3.1 document, made from the table of operations."""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import structs

from drumline.api.operation import EVENT_STREAM, JSON, Info, NoQuery, Operation
from drumline.api.problems import PROBLEMS
from drumline.api.schema import Schemas
from drumline.api.tasks import HEADER_KEY
from drumline.core.durable import LONGEST_RECORD_NAME
from drumline.core.field_schema import QUEUE, UUID, WORKER, Schema, line_schema
from drumline.core.limits import Limits
from drumline.core.problem import Problem
from drumline.core.saved_view import LONGEST_NAME as LONGEST_VIEW_NAME
from drumline.core.saved_view import VIEW_NAME_PATTERN, ViewPage
from drumline.core.secret import LONGEST_NAME as LONGEST_SECRET_NAME
from drumline.core.secret import NAME_PATTERN
from drumline.core.tenant import TENANT_SCHEMA

NO_CONTENT: Final = 204
_BRACES = re.compile(r"{(\w+)}")
_PROBLEM_MEDIA = "application/problem+json"
_REASONS = {200: "Done", 201: "Stored durably", 202: "Begun", 204: "Done, nothing to say", 503: "Not ready"}

INCOMPLETE: Final[Schema] = {
    "type": "object",
    "description": "An answer from all shards.",
    "properties": {
        "incomplete": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The shards that could not be reached, and what they hold is missing; absent if none is.",
        }
    },
}

PATH_PARAMETERS: Final[dict[str, Schema]] = {
    "id": UUID,
    "task_id": UUID,
    "task": UUID,
    "session": WORKER,
    "worker": WORKER,
    "queue": QUEUE,
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": r"^[A-Za-z0-9 _.+-]*[A-Za-z0-9_+-][A-Za-z0-9 _.+-]*$",
    },
    "signal": line_schema(LONGEST_RECORD_NAME),
    "code": {"type": "string"},
    "page": {"type": "string", "enum": list(ViewPage)},
    "view": {**line_schema(LONGEST_VIEW_NAME), "pattern": VIEW_NAME_PATTERN},
    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    "tenant": TENANT_SCHEMA,
    "secret": {"type": "string", "maxLength": LONGEST_SECRET_NAME, "pattern": f"^{NAME_PATTERN}$"},
}
"""What a path has between braces, by its name."""


def document(operations: Iterable[Operation], *, info: Info, limits: Limits) -> dict[str, Any]:
    """Return the document that describes every operation that is not hidden."""
    schemas = Schemas({**structs.asdict(limits), "longest_wait": info.longest_wait})
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        if not operation.is_hidden:
            paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    problem = schemas.of(Problem)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Drumline",
            "version": info.version,
            "description": "A durable task scheduler. Times are ISO 8601 in UTC, durations seconds.",
        },
        "servers": [{"url": "/"}],
        "security": [{"ApiKey": []}, {"Bearer": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "responses": {
                str(status): {
                    "description": " / ".join(title for known, title in PROBLEMS.values() if known == status),
                    "content": {_PROBLEM_MEDIA: {"schema": problem}},
                }
                for status in sorted({status for status, _ in PROBLEMS.values()})
            },
            "securitySchemes": {
                "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "Bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(operation: Operation, schemas: Schemas) -> Schema:
    written: Schema = {
        "operationId": operation_id(operation),
        "summary": operation.summary,
        "tags": [operation.tag.value],
        "responses": _responses(operation, schemas),
    }
    if operation.handler.__doc__:
        written["description"] = operation.handler.__doc__
    parameters = [*_path_parameters(operation), *_query_parameters(operation, schemas), *_header_parameters(operation)]
    if parameters:
        written["parameters"] = parameters
    if operation.body is not None:
        written["requestBody"] = _request_body(operation, schemas)
    if operation.is_open:
        written["security"] = [{}]
    return written


def operation_id(operation: Operation) -> str:
    """Return a name that no other operation has: its handler's."""
    return str(getattr(operation.handler, "__name__", operation.path))


def _path_parameters(operation: Operation) -> list[Schema]:
    parameters = []
    for name in _BRACES.findall(operation.path):
        kind = {
            "/workers/{id}": "worker",
            "/queues/{name}": "queue",
            "/limits/{name}": "queue",
            "/tenants/{name}": "tenant",
            "/secrets/{name}": "secret",
            "/signals/{name}": "signal",
            "/views/{page}/{name}": "view",
        }
        named = next(
            (word for part, word in kind.items() if part in operation.path and part.endswith(f"{{{name}}}")), name
        )
        parameters.append({"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[named]})
    return parameters


def _query_parameters(operation: Operation, schemas: Schemas) -> list[Schema]:
    if operation.query is NoQuery:
        return []
    parameters = []
    for name, schema, required in schemas.fields(operation.query):
        plain = _without_null(schema)
        described = {"description": plain.pop("description")} if "description" in plain else {}
        parameters.append({"name": name, "in": "query", "required": required, "schema": plain, **described})
    return parameters


def _header_parameters(operation: Operation) -> list[Schema]:
    if not operation.idempotent:
        return []
    schema = {"type": "string", "pattern": f"^{HEADER_KEY.pattern}$"}
    return [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema}]


def _request_body(operation: Operation, schemas: Schemas) -> Schema:
    if operation.body is bytes:
        return {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
    return {
        "required": operation.body_required,
        "content": {"application/json": {"schema": schemas.of(operation.described or operation.body)}},
    }


def _responses(operation: Operation, schemas: Schemas) -> Schema:
    responses: Schema = {}
    for status in (operation.status, *operation.also):
        content = {} if status == NO_CONTENT else _content(operation, schemas)
        responses[str(status)] = {"description": _REASONS.get(status, "Done"), **content}
        if status in {200, 201} and operation.idempotent:
            responses[str(status)]["headers"] = {
                "Location": {"description": "Where it is", "schema": {"type": "string"}}
            }
    for status in sorted({status for status, _ in PROBLEMS.values()}):
        if str(status) not in responses and _may_answer(operation, status):
            responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
    return responses


def _may_answer(operation: Operation, status: int) -> bool:
    has_body = operation.body is not None
    is_for_all = operation.is_open and not has_body  # one with a body has a key in it
    never = {
        401: is_for_all,
        403: is_for_all,
        404: operation.is_open or ("{" not in operation.path),
        405: True,
        408: not has_body,
        409: operation.is_open or operation.method == "GET",
        413: not has_body,
        415: not has_body or operation.body is bytes,
        429: is_for_all,
    }
    return not never.get(status, False)


def _content(operation: Operation, schemas: Schemas) -> Schema:
    if operation.answer is None:
        return {}
    media = operation.media.decode()
    # Of a stream it is one message that is described.
    is_shape = operation.media in {JSON, EVENT_STREAM}
    schema = schemas.of(operation.answer) if is_shape else {"type": "string"}
    if operation.merges:
        schemas.components["Incomplete"] = INCOMPLETE
        schema = {"allOf": [schema, {"$ref": "#/components/schemas/Incomplete"}]}
    others = {other.decode(): {"schema": {"type": "string"}} for other in operation.other_media}
    return {"content": {media: {"schema": schema}, **others}}


def _without_null(schema: Schema) -> Schema:
    """Return the schema of a parameter that is either given or not, and never null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if not choices:
        return dict(schema)
    rest = {word: value for word, value in schema.items() if word != "anyOf"}
    return {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}
