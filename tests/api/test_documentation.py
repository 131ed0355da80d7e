import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import msgspec
from msgspec import Raw, Struct

from drumline.api.problem_help import HELP
from drumline.api.problems import PROBLEMS
from drumline.api.routes import OPERATIONS
from drumline.api.schema import Schemas

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "http.md"
SHOWN = [operation for operation in OPERATIONS if not operation.is_hidden]


async def described(http: httpx.AsyncClient) -> dict[str, Any]:
    reply = await http.get("/openapi.json")
    assert reply.headers["content-type"] == "application/json"
    body: dict[str, Any] = reply.json()
    return body


async def test_openapi_has_every_operation_once(stranger: httpx.AsyncClient) -> None:
    document = await described(stranger)

    written = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert written == {(operation.method, operation.path) for operation in SHOWN}
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "1.2.3"


async def test_every_reference_in_openapi_leads_somewhere(stranger: httpx.AsyncClient) -> None:
    document = await described(stranger)

    for reference in set(re.findall(r'"\$ref":"#/([^"]+)"', msgspec.json.encode(document).decode())):
        place: Any = document
        for step in reference.split("/"):
            place = place[step]


def test_raw_is_any_json_with_its_default_in_the_schema() -> None:
    class Thing(Struct):
        needed: Raw
        payload: Raw = Raw(b'{"a": 1}')

    schemas = Schemas({})
    schemas.of(Thing)

    assert schemas.components["Thing"]["properties"] == {"needed": {}, "payload": {"default": {"a": 1}}}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        assert not any(name.startswith("on") or name == "style" for name in given)


async def test_the_docs_page_needs_no_script_and_no_other_host(stranger: httpx.AsyncClient) -> None:
    reply = await stranger.get("/docs")

    page = _Page()
    page.feed(reply.text)
    assert reply.headers["content-type"].startswith("text/html")
    assert "script" not in page.tags
    assert all(link.startswith(("#", "/", "data:")) and not link.startswith("//") for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    for link in {link for link in page.links if link.startswith("/")}:
        assert (await stranger.get(link)).status_code == 200


async def test_the_docs_page_shows_every_operation(stranger: httpx.AsyncClient) -> None:
    page = (await stranger.get("/docs")).text

    headings = [f"{operation.method}</b> <code>{operation.path}</code>" for operation in SHOWN]
    assert [heading for heading in headings if heading not in page] == []


async def test_the_type_of_every_problem_leads_to_its_cause_and_cure(stranger: httpx.AsyncClient) -> None:
    pages = {code: await stranger.get(f"/errors/{code}") for code in PROBLEMS}
    texts = {code: unescape(re.sub(r"</?code>", "`", page.text)) for code, page in pages.items()}
    wanted = {code: [title, HELP[code].cause, *HELP[code].cure] for code, (_, title) in PROBLEMS.items()}

    assert [(code, words) for code in PROBLEMS for words in wanted[code] if words not in texts[code]] == []


def test_the_reference_page_lists_every_operation() -> None:
    page = REFERENCE.read_text()

    rows = [
        f"| `{operation.method} {operation.path}` | {operation.summary}{' (no key needed)' * operation.is_open} |"
        for operation in SHOWN
    ]
    assert [row for row in rows if row not in page] == []


def test_the_reference_page_lists_every_error() -> None:
    page = REFERENCE.read_text()

    for code, (status, title) in PROBLEMS.items():
        assert f"| `{code}` | {status} | {title} |" in page


def test_the_reference_page_lists_no_path_that_is_gone() -> None:
    listed = re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", REFERENCE.read_text(), flags=re.MULTILINE)

    assert len(listed) == len(SHOWN)
