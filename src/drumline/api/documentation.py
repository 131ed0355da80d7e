"""The API's own description: OpenAPI for programs, a page for people. Nothing is loaded from anywhere else."""

import functools
import html
import json
import re
from collections.abc import Callable
from importlib.resources import files
from itertools import groupby
from typing import Any

from drumline.api.openapi import document, operation_id
from drumline.api.operation import HTML, JSON, PAGE, ApiCall, ApiContext, NoQuery, Operation, Reply, Tag
from drumline.api.problem_help import HELP
from drumline.api.problems import PROBLEMS, Refused
from drumline.core.codec import encode

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/style.css"></head>
<body>{body}</body></html>
"""


_EXAMPLE = """<section id="example"><h2>A first task</h2>
<pre tabindex="0"><code>curl http://127.0.0.1:8080/api/v1/tasks -H "X-API-Key: $DRUMLINE_API_KEY" \\
     -d '{"name": "shell", "payload": {"command": ["echo", "hello"]}}'
</code></pre>
<p>answers <code>201</code> once the task is stored:</p>
<pre tabindex="0"><code>{"id": "01890a5d-ac96-774b-bcce-b302099a8057", "status": "QUEUED", "due_at": "2026-…", "created": true}
</code></pre>
<p><code>GET /api/v1/tasks/{id}?wait=30</code> answers when it has ended, with its <code>result</code> or <code>error</code>.</p>
</section>"""  # noqa: E501 - as a terminal shows it


async def openapi(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the OpenAPI 3.1 document."""
    return _once(call, "openapi", lambda: Reply(encode(_described(call.context))))


async def docs(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the page that describes every path."""
    return _once(call, "docs", lambda: _reference(call.context))


def _once(call: ApiCall[None, NoQuery], name: str, make: Callable[[], Reply]) -> Reply:
    """Return an answer that takes long to make: it is made for the first caller, and kept."""
    pages = call.context.pages
    if name not in pages:
        pages[name] = make()
    return pages[name]


def _reference(context: ApiContext) -> Reply:
    described = _described(context)
    chapters = groupby(
        sorted((op for op in context.operations if not op.is_hidden), key=lambda op: list(Tag).index(op.tag)),
        key=lambda op: op.tag,
    )
    sections = "".join(_chapter(tag, list(operations), described) for tag, operations in chapters)
    body = (
        f"<header><h1>Drumline <small>{_text(context.info.version)}</small></h1>"
        "<p>Send your key as <code>X-API-Key</code> or <code>Authorization: Bearer</code>. Bodies are JSON, times "
        'ISO 8601 in UTC, durations seconds or text such as <code>1h30m</code>. The same in <a href="/openapi.json">'
        'OpenAPI 3.1</a>. Guides, tutorial and search: <a href="/docs/">the documentation</a>.</p></header>'
        f"<nav>{_contents()}</nav><main>{_EXAMPLE}{sections}{_errors()}{_types(described)}</main>"
    )
    return _page("Drumline API", body)


async def style(_call: ApiCall[None, NoQuery]) -> Reply:
    """Return the pages' style sheet."""
    return Reply(_style(), media=b"text/css; charset=utf-8")


async def error_page(call: ApiCall[None, NoQuery]) -> Reply:
    """Explain a problem's type."""
    code = call.params["code"]
    if code not in PROBLEMS:
        raise Refused(f"there is no problem called {code}", code="not_found", field="code")
    status, title = PROBLEMS[code]
    return _page(title, f"<main><h1>{_text(title)}</h1><p><code>{code}</code>, HTTP {status}.</p>{_help(code)}</main>")


def _help(code: str) -> str:
    """Return the cause of a problem and what to do about it."""
    if (told := HELP.get(code)) is None:
        return ""
    example = f'<h2>Example</h2><pre tabindex="0"><code>{_text(told.example)}</code></pre>' if told.example else ""
    cures = "".join(f"<li>{_prose(cure)}</li>" for cure in told.cure)
    return (
        f"<h2>Cause</h2><p>{_prose(told.cause)}</p>{example}<h2>What to do</h2><ul>{cures}</ul>"
        f"<h2>Repeat it?</h2><p>{_prose(told.repeat)}</p>"
        '<p><a href="/docs/errors/">All errors</a>, <a href="/docs/api">the API</a></p>'
    )


def _described(context: ApiContext) -> dict[str, Any]:
    return document(context.operations, info=context.info, limits=context.limits)


@functools.cache
def _style() -> bytes:
    return files("drumline.api").joinpath("style.css").read_bytes()


def _page(title: str, body: str) -> Reply:
    return Reply(_PAGE.format(title=_text(title), body=body).encode(), media=HTML, policy=PAGE)


def _text(text: str) -> str:
    return html.escape(text)


def _prose(text: str) -> str:
    """Return a text as HTML, with the parts between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _contents() -> str:
    links = '<a href="#example">A first task</a>' + "".join(
        f'<a href="#{_anchor(tag)}">{_text(tag.value.capitalize())}</a>' for tag in Tag
    )
    return links + '<a href="#errors">Errors</a><a href="#types">Types</a>'


def _anchor(tag: Tag) -> str:
    return tag.value.replace(" ", "-")


def _chapter(tag: Tag, operations: list[Operation], described: dict[str, Any]) -> str:
    parts = "".join(_operation(op, described["paths"][op.path][op.method.lower()]) for op in operations)
    return f'<section id="{_anchor(tag)}"><h2>{_text(tag.value.capitalize())}</h2>{parts}</section>'


def _operation(operation: Operation, described: dict[str, Any]) -> str:
    path = _text(operation.path)
    rows = "".join(_parameter(parameter) for parameter in described.get("parameters", []))
    table = f"<table><caption>Parameters</caption>{rows}</table>" if rows else ""
    content = described.get("requestBody", {}).get("content", {})
    body = "".join(f"<p>Body: {_shape(media['schema'])}</p>" for media in content.values())
    answers = "".join(
        _answer(status, answer) for status, answer in described["responses"].items() if "content" in answer
    )
    return (
        f'<article id="op-{operation_id(operation)}"><h3><b class="{operation.method.lower()}">{operation.method}</b> '
        f"<code>{path}</code>{' <em>open</em>' if operation.is_open else ''}</h3>"
        f"<p>{_prose(described.get('description', operation.summary))}</p>{table}{body}{answers}</article>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    return (
        f"<tr><th scope=row><code>{_text(parameter['name'])}</code></th><td>{parameter['in']}</td>"
        f"<td>{_shape(parameter['schema'])}</td><td>{_prose(parameter.get('description', ''))}</td></tr>"
    )


def _answer(status: str, answer: dict[str, Any]) -> str:
    shapes = (f"{_shape(given['schema'])} <small>{_text(media)}</small>" for media, given in answer["content"].items())
    return f"<p>Answer {status}: {' or '.join(shapes)}</p>"


def _shape(schema: dict[str, Any]) -> str:
    """Return a schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_shape(choice) for choice in schema["anyOf"]))
    if "enum" in schema:
        return " ".join(f"<code>{_text(str(word))}</code>" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_shape(schema.get('items', {}))}"
    words = [str(schema.get("const", schema.get("type", "any JSON"))), schema.get("format", "")]
    return _text(" ".join(word for word in words if word) + _bounds(schema))


def _bounds(schema: dict[str, Any]) -> str:
    least, most = (_number(schema.get(word)) for word in ("minimum", "maximum"))
    spans = {(True, True): f"{least} to {most}", (True, False): f"at least {least}", (False, True): f"at most {most}"}
    said = spans.get((bool(least), bool(most)), "")
    default = f"default {_number(schema['default'])}" if schema.get("default") is not None else ""
    return "".join(f", {part}" for part in (said, default) if part)


def _number(value: object) -> str:
    if value is None:
        return ""
    text = json.dumps(value).removesuffix(".0")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else text


def _errors() -> str:
    rows = "".join(
        f'<tr id="error-{code}"><th scope=row><code>{code}</code></th><td>{status}</td><td>{_text(title)}</td></tr>'
        for code, (status, title) in PROBLEMS.items()
    )
    about = "<p>Every error is <code>application/problem+json</code>.</p>"
    return f'<section id="errors"><h2>Errors</h2>{about}<table>{rows}</table></section>'


def _types(described: dict[str, Any]) -> str:
    parts = "".join(_type(name, schema) for name, schema in described["components"]["schemas"].items())
    return f'<section id="types"><h2>Types</h2>{parts}</section>'


def _type(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = "".join(
        f"<tr><th scope=row><code>{_text(field)}</code>{'' if field in needed else ' <small>optional</small>'}</th>"
        f"<td>{_shape(inner)}</td><td>{_prose(inner.get('description', ''))}</td></tr>"
        for field, inner in schema.get("properties", {}).items()
    )
    words = f"<p>{_shape(schema)}</p>" if "enum" in schema else ""
    about = _prose(schema.get("description", ""))
    return f'<article id="type-{name}"><h3>{name}</h3><p>{about}</p>{words}<table>{rows}</table></article>'


def _operations() -> tuple[Operation, ...]:
    def page(path: str, handler: Any, summary: str, media: bytes = HTML, *, hidden: bool = True) -> Operation:
        return Operation(
            method="GET", path=path, handler=handler, summary=summary, tag=Tag.DOCS, media=media,
            answer=dict[str, Any] if media == JSON else str, is_open=True, is_hidden=hidden,
        )  # fmt: skip

    return (
        page("/openapi.json", openapi, "The OpenAPI 3.1 document", JSON, hidden=False),
        page("/docs", docs, "This page", hidden=False),
        page("/docs/api", docs, "The same, below the documentation site"),
        page("/docs/style.css", style, "The pages' style sheet"),
        page("/errors/{code}", error_page, "What a problem's type means"),
    )


OPERATIONS = _operations()

ERROR_PAGES = frozenset(f"/errors/{code}" for code in PROBLEMS)
