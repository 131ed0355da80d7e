"""Text messages, sent to a stand-in for the gateways of two providers."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import pytest

from drumline.core.errors import Invalid
from drumline.core.state import State
from drumline.core.task_type import PayloadMode
from drumline.core.tuning import Tuning
from drumline.lifecycle.mail_server import sms_gateway
from drumline.outbound.guard import AddressGuard, parse_allowed
from drumline.outbound.sms import SmsGateway
from drumline.settings import Settings, load_settings
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.options import WorkerOptions
from tests.worker.house import House, result_of

HERE = AddressGuard(parse_allowed(("127.0.0.1",), field="allow"), setting="sms.allow")
MESSAGE = {"to": "+4915112345678", "text": "Ihr Code ist 42 \u20ac"}


class StandIn:
    """Answers as it is told to, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
        self.asked.append((first.split(" ")[1], headers, await reader.readexactly(int(headers["content-length"]))))
        status, answer = self.answers.pop(0)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        more = "location: https://example.org/\r\n" if 300 <= status < 400 else ""
        writer.write(
            f"HTTP/1.1 {status} Word\r\ncontent-type: application/json\r\n{more}"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()


@pytest.fixture
async def gateway() -> AsyncIterator[StandIn]:
    async with standing_in() as gateway:
        yield gateway


@asynccontextmanager
async def standing_in() -> AsyncIterator[StandIn]:
    gateway = StandIn()
    async with await asyncio.start_server(gateway.serve, "127.0.0.1", 0) as server:
        gateway.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield gateway


def built_in(gateway: StandIn, provider: Any, **settings: Any) -> BuiltIn:
    known = {"account": "AC1", "token": "t0ken", "sender": "+15550001"} | settings
    sms = SmsGateway(provider=provider, url=gateway.url, timeout=5, **known)
    return BuiltIn(http=False, pdf=False, sms=sms, sms_guard=HERE)


async def test_twilio_is_asked_by_a_form_under_the_account(house: House, gateway: StandIn) -> None:
    gateway.answers = [(201, {"sid": "SM7", "status": "queued"})]

    async with house.worker(built_in(gateway, "twilio")):
        view = await house.run("send-sms", MESSAGE)

    ((path, headers, body),) = gateway.asked
    assert path == "/2010-04-01/Accounts/AC1/Messages.json"
    assert headers["authorization"] == "Basic " + base64.b64encode(b"AC1:t0ken").decode()
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(body.decode()) == {"To": [MESSAGE["to"]], "From": ["+15550001"], "Body": [MESSAGE["text"]]}
    assert result_of(view) == {"message_id": "SM7", "provider": "twilio"}


async def test_vonage_is_asked_by_json_with_key_and_secret(house: House, gateway: StandIn) -> None:
    gateway.answers = [(200, {"message-count": "1", "messages": [{"status": "0", "message-id": "0A1"}]})]

    async with house.worker(built_in(gateway, "vonage", sender="Drums")):
        view = await house.run("send-sms", MESSAGE)

    ((path, _, body),) = gateway.asked
    assert path == "/sms/json"
    assert json.loads(body) == {
        "api_key": "AC1", "api_secret": "t0ken", "to": "4915112345678", "from": "Drums", "text": MESSAGE["text"],
        "type": "unicode", "client-ref": view.id,
    }  # fmt: skip
    assert result_of(view) == {"message_id": "0A1", "provider": "vonage"}


def vonage(status: str) -> dict[str, Any]:
    return {"message-count": "1", "messages": [{"status": status, "error-text": "Some words"}]}


@pytest.mark.parametrize(
    ("provider", "reply", "is_retried", "kind"),
    [
        ("twilio", (400, {"code": 21211, "message": "Invalid 'To'"}), False, "HTTP 400"),
        ("twilio", (401, {"message": "Authenticate"}), False, "HTTP 401"),
        ("twilio", (429, {"message": "slow down"}), True, "HTTP 429"),
        ("twilio", (503, b"oops"), True, "HTTP 503"),
        ("twilio", (307, b""), False, "HTTP 307"),
        ("twilio", (201, b"<html>"), False, "UnreadableAnswer"),
        ("twilio", (201, {}), False, "UnreadableAnswer"),
        ("twilio", (201, b"[1]"), False, "UnreadableAnswer"),
        ("vonage", (200, vonage("1")), True, "status 1"),
        ("vonage", (200, vonage("5")), True, "status 5"),
        ("vonage", (200, vonage("4")), False, "status 4"),
        ("vonage", (200, {"messages": []}), False, "UnreadableAnswer"),
        ("vonage", (200, {"messages": ["x"]}), False, "UnreadableAnswer"),
    ],
)
async def test_what_the_gateway_says_decides_whether_it_is_tried_again(
    house: House, gateway: StandIn, provider: str, reply: tuple[int, Any], is_retried: bool, kind: str
) -> None:
    gateway.answers = [reply]

    async with house.worker(built_in(gateway, provider)):
        view = await (house.try_once if is_retried else house.run)("send-sms", MESSAGE)

    assert view.error is not None
    assert view.error.kind == kind
    assert (view.state is State.QUEUED) is is_retried
    assert "t0ken" not in view.error.message


async def test_a_gateway_that_is_not_there_is_tried_again(house: House, gateway: StandIn) -> None:
    nowhere = StandIn()
    nowhere.url = "http://127.0.0.1:1"

    async with house.worker(built_in(nowhere, "twilio")):
        view = await house.try_once("send-sms", MESSAGE)

    assert view.state is State.QUEUED
    assert gateway.asked == []


async def test_a_gateway_inside_has_to_be_allowed(house: House, gateway: StandIn) -> None:
    sms = SmsGateway(provider="twilio", url=gateway.url, account="a", token="t", sender="Drums")

    async with house.worker(BuiltIn(http=False, pdf=False, sms=sms)):
        view = await house.run("send-sms", MESSAGE)

    assert view.state is State.FAILED
    assert view.error is not None
    assert "an operator can allow it with sms.allow" in view.error.message
    assert gateway.asked == []


async def test_a_task_may_name_its_own_account_and_sender(house: House, gateway: StandIn) -> None:
    gateway.answers = [(201, {"sid": "SM7"})]
    own = {"account": "AC2", "token": "other", "from": "Shop"}

    async with house.worker(built_in(gateway, "twilio", account="", token="", sender="")):
        await house.run("send-sms", MESSAGE | own)
        half = await house.run("send-sms", MESSAGE | {"account": "AC2", "from": "Shop"})
        nobody = await house.run("send-sms", MESSAGE)

    ((path, headers, body),) = gateway.asked
    assert "/Accounts/AC2/" in path
    assert headers["authorization"] == "Basic " + base64.b64encode(b"AC2:other").decode()
    assert parse_qs(body.decode())["From"] == ["Shop"]
    assert half.error is not None
    assert half.error.message.startswith("payload.token: ")
    assert nobody.error is not None
    assert nobody.error.message.startswith("payload.from: ")


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": "015112345678"}, {"to": "+49 151 12345678"}, {"to": "+0123456789"}, {"text": ""}, {"text": "x" * 1601},
        {"from": "x" * 12}, {"from": "a\r\nb"}, {"to": "+4915112345678\n"}, {"unknown": 1},
    ],
)  # fmt: skip
async def test_a_message_that_cannot_be_sent_is_refused_when_it_is_submitted(
    house: House, gateway: StandIn, wrong: dict[str, Any]
) -> None:
    gateway.answers = [(201, {"sid": "SM7"})]
    house.engine.tune(Tuning(payload_check=PayloadMode.REFUSE))

    async with house.worker(built_in(gateway, "twilio")):
        await house.run("send-sms", MESSAGE)  # the worker has said what it takes
        with pytest.raises(Invalid) as caught:
            await house.submit("send-sms", MESSAGE | wrong)

    (name,) = wrong
    assert caught.value.field == f"payload.{name}"


async def test_a_worker_that_is_given_such_a_message_fails_it_for_good(house: House, gateway: StandIn) -> None:
    task = await house.submit("send-sms", MESSAGE | {"to": "015112345678"})  # before any worker has said what it takes

    async with house.worker(built_in(gateway, "twilio")):
        view = await house.ended(task)

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith("payload.to: ")
    assert gateway.asked == []


def test_workers_offer_it_only_with_a_gateway() -> None:
    types = {type_.name for type_ in assemble(WorkerOptions(), built_in=BuiltIn()).types}

    assert "send-sms" not in types
    assert sms_gateway(Settings()) is None


def test_the_gateway_is_named_by_settings_and_its_secret_may_come_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    settings = load_settings(
        {
            "DRUMLINE_SMS_PROVIDER": "vonage", "DRUMLINE_SMS_ACCOUNT": "key", "DRUMLINE_SMS_SENDER": "Drums",
            "DRUMLINE_SMS_TOKEN_FILE": str(tmp_path / "token"), "DRUMLINE_SMS_URL": "https://sms.example.org",
        }
    )  # fmt: skip

    gateway = sms_gateway(settings)

    assert gateway is not None
    assert (gateway.provider, gateway.account, gateway.token, gateway.url) == (
        "vonage", "key", "t0ken", "https://sms.example.org",
    )  # fmt: skip
    with pytest.raises(Invalid) as caught:
        sms_gateway(load_settings({"DRUMLINE_SMS_PROVIDER": "twilio", "DRUMLINE_SMS_ACCOUNT": "key"}))
    assert caught.value.field == "sms.token"
