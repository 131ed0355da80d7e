"""Answers are compressed where that is worth it, and nowhere else."""

import random
from collections.abc import Mapping

import httpx
import pytest

from drumline.api.compression import AT_ONCE, SMALLEST, Compression
from tests.api.conftest import submitted

GZIP = {"accept-encoding": "br;q=1.0, gzip;q=0.5"}


async def many(http: httpx.AsyncClient, count: int) -> None:
    tasks = [{"name": "x", "payload": {"n": n, "text": "again and again " * 20}} for n in range(count)]
    reply = await http.post("/api/v1/tasks/batch", json={"tasks": tasks})
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("count", [5, 100], ids=["on the loop", "in a thread"])
async def test_a_list_is_compressed_for_a_client_that_accepts_it(http: httpx.AsyncClient, count: int) -> None:
    await many(http, count)
    path = "/api/v1/tasks?payload=true"

    plain = await http.get(path, headers={"accept-encoding": "identity"})
    packed = await http.get(path, headers=GZIP)

    assert (len(plain.content) > AT_ONCE) == (count == 100)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
    assert int(plain.headers["content-length"]) == len(plain.content)


@pytest.mark.parametrize("given", ["", "identity", "br", "gzip;q=0", "GZIP; Q=0.0", "notgzip"])
async def test_a_client_that_does_not_accept_it_gets_it_plain(http: httpx.AsyncClient, given: str) -> None:
    await many(http, 20)

    reply = await http.get("/api/v1/tasks", headers={"accept-encoding": given})

    assert len(reply.content) > SMALLEST
    assert "content-encoding" not in reply.headers


async def test_small_answers_and_answers_to_acts_are_not_compressed(http: httpx.AsyncClient) -> None:
    task = await submitted(http)
    items = [{"name": "x"}] * 100

    small = await http.get(f"/api/v1/tasks/{task}", headers=GZIP)
    act = await http.post("/api/v1/tasks/batch", json={"tasks": items}, headers=GZIP)

    assert len(act.content) > SMALLEST
    assert "content-encoding" not in small.headers
    assert "content-encoding" not in act.headers


async def test_answers_that_are_about_keys_never_tell_by_their_length(http: httpx.AsyncClient) -> None:
    for number in range(10):
        made = await http.post("/api/v1/keys", json={"name": f"key {number}", "role": "viewer"})
        assert made.status_code == 201, made.text

    keys = await http.get("/api/v1/keys", headers=GZIP)
    door = await http.get("/api/v1/sign-in", headers=GZIP)
    me = await http.get("/api/v1/me", headers=GZIP)

    assert len(keys.content) > SMALLEST
    assert all("content-encoding" not in reply.headers for reply in (keys, door, me))


async def answers_of(*messages: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return what leaves when an application sends these messages to a client that accepts gzip."""

    async def inner(_scope: object, _receive: object, send: object) -> None:
        for message in messages:
            await send(dict(message))  # type: ignore[operator]

    sent: list[Mapping[str, object]] = []

    async def take(message: object) -> None:
        sent.append(message)  # type: ignore[arg-type]

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [(b"accept-encoding", b"gzip")]}
    await Compression(inner)(scope, None, take)  # type: ignore[arg-type]
    return sent


async def test_a_stream_is_passed_on_piece_by_piece_at_once() -> None:
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    pieces = [{"type": "http.response.body", "body": b"x" * 5_000, "more_body": True}] * 3

    assert await answers_of(head, *pieces) == [head, *pieces]


@pytest.mark.parametrize(
    ("status", "extra"),
    [(200, (b"set-cookie", b"a=b")), (200, (b"content-encoding", b"br")), (422, (b"x", b"y")), (206, (b"x", b"y"))],
)
async def test_an_answer_that_sets_a_cookie_or_is_no_plain_success_stays_as_it_is(
    status: int, extra: tuple[bytes, bytes]
) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"5000"), extra]
    head = {"type": "http.response.start", "status": status, "headers": headers}
    body = {"type": "http.response.body", "body": b"x" * 5_000}

    assert await answers_of(head, body) == [head, body]


async def test_what_would_not_become_smaller_goes_as_it_is() -> None:
    packed = random.Random(7).randbytes(5_000)
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(packed))]

    sent = await answers_of(
        {"type": "http.response.start", "status": 200, "headers": headers},
        {"type": "http.response.body", "body": packed},
    )

    assert sent[1]["body"] == packed
    assert (b"vary", b"accept-encoding") in sent[0]["headers"]  # type: ignore[operator]
    assert (b"content-encoding", b"gzip") not in sent[0]["headers"]  # type: ignore[operator]
