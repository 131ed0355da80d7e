"""Secrets as workers get them, near or far."""

import pytest
from msgspec.structs import replace

from drumline.core.errors import Fenced, Invalid, NotFound, Unreadable
from drumline.core.outcome import Succeeded
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway
from drumline.stores.sealing import AesBox
from tests.factories import request
from tests.gateway.conftest import engines_of
from tests.gateway.test_gateway import settle, take
from tests.harness.parts import use_box

PAYLOAD = {"a": {"$secret": "one"}, "b": [{"$secret": "two", "format": "x{}"}], "c": {"$literal": {"$secret": "three"}}}


@pytest.fixture(autouse=True)
async def _secrets(engine: Engine) -> None:
    for each in {engine, *engines_of(engine)}:
        use_box(each, AesBox([b"k" * 32]))
    for name in ("one", "two", "three"):
        await engine.secrets.put(name, f"value of {name}", tenant="default")
    await engine.submissions.submit(request(payload=PAYLOAD))


async def test_the_holder_of_a_lease_gets_what_the_payload_names_and_no_more(gateway: Gateway) -> None:
    lease = await take(gateway)

    assert await gateway.reveal(lease) == {"one": "value of one", "two": "value of two"}


async def test_a_lease_that_is_not_current_gets_nothing(gateway: Gateway) -> None:
    lease = await take(gateway)

    for wrong in (replace(lease, nonce=lease.nonce ^ 1), replace(lease, epoch=lease.epoch + 1)):
        with pytest.raises(Fenced):
            await gateway.reveal(wrong)
    await settle(gateway, lease, Succeeded())
    with pytest.raises(Fenced):
        await gateway.reveal(lease)


async def test_what_cannot_be_told_has_its_reason(engine: Engine, gateway: Gateway) -> None:
    lease = await take(gateway)

    for each in {engine, *engines_of(engine)}:
        each.secrets.box = AesBox([b"w" * 32])
    with pytest.raises(Unreadable, match="cannot be opened"):
        await gateway.reveal(lease)
    await engine.secrets.delete("one", tenant="default")
    with pytest.raises(NotFound) as gone:
        await gateway.reveal(lease)
    assert gone.value.field == "secret"


@pytest.mark.parametrize("place", [0, 49, 50, 119])
async def test_an_unknown_secret_is_found_wherever_in_a_long_list(engine: Engine, place: int) -> None:
    requests = [request(payload={"n": n}) for n in range(120)]
    requests[place] = request(payload={"token": {"$secret": "unknown"}})

    answers = await engine.submissions.submit_many(requests)

    assert [n for n, answer in enumerate(answers) if isinstance(answer, Invalid)] == [place]
