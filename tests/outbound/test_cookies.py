"""No cookie is kept by any client: one client makes the requests of many tenants."""

import ast
from collections.abc import Iterator
from pathlib import Path

import httpx

import drumline
from drumline.outbound.no_cookies import no_cookies

SOURCE = Path(drumline.__file__).parent


def clients_made() -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"httpx.AsyncClient", "httpx.Client"}:
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", node


def test_every_client_is_made_without_a_jar() -> None:
    made = dict(clients_made())

    assert len(made) >= 5
    for where, call in made.items():
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("cookies") == "no_cookies()", where


async def test_a_client_without_a_jar_keeps_no_cookie_of_any_kind() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        set_cookies = ("a=1", "b=2; Domain=example.com", "c=3; Path=/", "d=4; Max-Age=3600", "e=5; Secure; HttpOnly")
        return httpx.Response(200, headers=[("set-cookie", cookie) for cookie in set_cookies])

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), cookies=no_cookies()) as client:
        for url in ("https://example.com/", "https://example.com/", "https://www.example.com/", "http://10.0.0.1/"):
            await client.get(url)

    assert [request.headers.get("cookie") for request in asked] == [None] * 4
