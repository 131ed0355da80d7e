"""How a shop tests its tasks: no server, no sleeping. Run it with `pytest examples/test_charging.py`."""

import asyncio

import pytest

from drumline import Backoff, Context, Drumline, Status, TaskFailed, inject
from drumline.testing import EffectRepeated, World

app = Drumline("shop")


class Payments:
    """A fake of a payment service, which knows the keys of requests."""

    def __init__(self) -> None:
        self.charged: dict[str, int] = {}

    async def charge(self, order: int, *, key: str) -> None:
        await asyncio.sleep(0.2)
        self.charged[key] = order


class Shop:
    """What the tasks use; tests put their fakes here."""

    payments = Payments()


def send_mail(order: int) -> None:
    print(f"a mail about order {order}")


@app.task(retries=3, backoff=Backoff.exponential(2), timeout="30s")
async def charge(order: int, *, ctx: Context[None] = inject()) -> int:
    await Shop.payments.charge(order, key=ctx.id)
    return order


@app.task
def mail(order: int) -> None:
    send_mail(order)


@app.cron("0 8 * * *", tz="Europe/Berlin")
async def remind() -> None:
    await mail.asubmit(0)


@pytest.fixture
def drumline_app() -> Drumline[None]:
    return app


def test_a_charge_is_repeated_while_the_service_is_down(world: World) -> None:
    world.fail_next(charge, ConnectionError("down"), times=3)
    began = world.now

    assert charge.submit(7).result() == 7
    assert (world.now - began).total_seconds() > 2 + 4 + 8


def test_a_charge_fails_for_good_when_retries_are_used_up(world: World) -> None:
    world.fail_next(charge, ConnectionError("down"), times=4)
    with pytest.raises(TaskFailed, match="down"):
        charge.submit(7).result()


async def test_a_worker_that_dies_loses_nothing(world: World) -> None:
    handle = await charge.asubmit(7)
    await asyncio.sleep(0.1)  # virtual time: the service is being asked
    world.kill_worker()
    assert await handle == 7


def test_a_reminder_is_sent_every_morning(world: World) -> None:
    world.travel("30d")
    assert len(world.submissions(mail)) == 30
    assert world.submitted(mail, 0).status() is Status.COMPLETED


def test_an_order_is_charged_once_whenever_the_worker_dies(world: World) -> None:
    Shop.payments = world.outside(Payments(), keyed_by="key")
    charge.submit(7)
    world.explore(50)


def test_a_mail_may_be_sent_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.send_mail", world.outside(send_mail))
    mail.submit(7)
    with pytest.raises(EffectRepeated, match=r"test_charging.py:\d+ in mail: send_mail\(order\)"):
        world.explore(50)
