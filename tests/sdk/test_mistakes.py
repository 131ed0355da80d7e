"""Mistakes that people make, and what they are told: each message says what is wrong, and where."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import drumline
from drumline import Context, Drumline


class Shop:
    """An app with tasks, on a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.app = app = Drumline("shop", data=folder)

        @app.task(name="charge")
        def charge(order: int, currency: str = "EUR") -> int:
            return order if currency else 0

        @app.task(name="refund", retries=0)
        def refund(order: int) -> int:
            raise ValueError(f"order {order} was not paid")

        self.task: Any = app.task  # for what a type checker would refuse
        self.charge: Any = charge
        self.refund: Any = refund

    def define_again(self) -> None:
        @self.app.task(name="charge")
        def other() -> None: ...

    def define_generator(self) -> None:
        @self.app.task
        def numbers() -> Any:
            yield 1

    def define_with_bare_context(self) -> None:
        @self.app.task(name="bare")
        def bare(ctx: Context[None]) -> None: ...

        bare.definition.arguments.check()

    def define_twice(self) -> None:
        self.app.task(retries=9)(self.charge)

    def submit_result_of_job(self) -> None:
        with self.app.dag("closing") as dag:
            first = dag.add(self.charge, 1)
        self.charge.submit(first.out)

    def submit_in_open_transaction(self) -> None:
        self.charge.submit(1)  # so that there is a database
        connection = sqlite3.connect(self.folder / "drumline.db", isolation_level=None)
        try:
            connection.execute("BEGIN")
            self.charge.options(tx=connection).submit(7).result(timeout=30)
        finally:
            connection.close()

    def submit_in_another_database(self) -> None:
        connection = sqlite3.connect(":memory:")
        try:
            self.charge.options(tx=connection).submit(7)
        finally:
            connection.close()

    def reuse_key(self) -> None:
        for order in (1, 2):
            self.charge.options(key="once").submit(order)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    for name in ("DRUMLINE_URL", "DRUMLINE_DATA", "DRUMLINE_STORE_URL", "DRUMLINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    made = Shop(tmp_path / "data")
    yield made
    made.app.close()


Mistake = tuple[Callable[[Shop], object], type[BaseException], str]

MISTAKES: dict[str, Mistake] = {
    "an argument is missing": (
        lambda shop: shop.charge.submit(), TypeError, "charge: missing a required argument: 'order'",
    ),
    "an argument too many": (
        lambda shop: shop.charge.submit(1, "EUR", 3), TypeError, "charge: too many positional arguments",
    ),
    "a keyword is misspelt": (
        lambda shop: shop.charge.submit(1, curency="USD"), TypeError,
        "charge: got an unexpected keyword argument 'curency'",
    ),
    "an argument has another type, and no worker has told the types yet": (
        lambda shop: shop.charge.submit("seven"), drumline.Invalid,
        "payload.order: must be a whole number, not a text",
    ),
    "an argument of asubmit has another type": (
        lambda shop: asyncio.run(shop.charge.asubmit("seven")), drumline.Invalid,
        "payload.order: must be a whole number, not a text",
    ),
    "an argument is not JSON": (
        lambda shop: shop.charge.submit(object()), drumline.Invalid,
        "payload.order: a value of type object cannot be written as JSON: give its id or its fields, or register",
    ),
    "a number is no number": (
        lambda shop: shop.charge.submit(float("nan")), drumline.Invalid,
        "payload.order: is NaN or infinite, which JSON cannot carry: give a number, a text or None",
    ),
    "an option is misspelt": (
        lambda shop: shop.charge.options(dealy=5), TypeError, "options has no option 'dealy'; did you mean delay?",
    ),
    "an option has another type": (
        lambda shop: shop.charge.options(retries="3"), TypeError, "options: retries must be a whole number, not '3'",
    ),
    "a duration is not one": (
        lambda shop: shop.charge.options(delay="5 parsecs").submit(1), drumline.Invalid,
        'delay: must be seconds, or a text such as "1h30m" (w, d, h, m, s, ms) or "PT1H30M"',
    ),
    "a delay is negative": (
        lambda shop: shop.charge.options(delay=-1).submit(1), drumline.Invalid, "delay: must be zero or more",
    ),
    "the name of a queue has a space": (
        lambda shop: shop.charge.options(queue="my queue").submit(1), drumline.Invalid,
        "queue: must be letters, digits and _ . : @ - only, and start with a letter or digit",
    ),
    "a priority is a word that does not exist": (
        lambda shop: shop.charge.options(priority="urgent").submit(1), drumline.Invalid,
        "priority: must be a number from -100 to 100, or critical, high, normal or low",
    ),
    "a task is decorated twice": (
        Shop.define_twice, TypeError, "charge is a task already: put all settings into one @app.task(…)",
    ),
    "a task is a lambda": (
        lambda shop: shop.task(lambda n: n), TypeError,
        "has no name by which a worker could find it: define it with def, or write app.task(name=",
    ),
    "a task is a class": (
        lambda shop: shop.task(dict), TypeError, "@app.task takes a function, not <class 'dict'>",
    ),
    "the name of a task is given by position": (
        lambda shop: shop.task("charge"), TypeError,
        "@app.task takes a function, not 'charge': write @app.task(name='charge')",
    ),
    "an option has the name that Celery gives it": (
        lambda shop: shop.charge.options(countdown=5), TypeError,
        "options has no option 'countdown'; it is called delay here",
    ),
    "a setting has the name that Celery gives it": (
        lambda shop: shop.task(time_limit=5)(print), TypeError,
        "@app.task has no setting 'time_limit'; it is called timeout here",
    ),
    "a task is bound as in Celery": (
        lambda shop: shop.task(bind=True)(print), TypeError,
        "@app.task has no setting 'bind'; a task takes its context as a parameter: *, ctx: Context[None] = inject()",
    ),
    "a task is submitted as in Celery": (
        lambda shop: shop.charge.delay(7), AttributeError,
        "'Task' object has no attribute 'delay': write task.submit(…); Celery's own interface is drumline.compat.cel",
    ),
    "a result of a job is submitted by itself": (
        Shop.submit_result_of_job, drumline.Invalid,
        "payload.order: cannot be written as JSON: the result of 'charge' is not known before the job has run: hand",
    ),
    "an argument is too large": (
        lambda shop: shop.app.submit_task("charge", "x" * 2_000_000), drumline.Invalid,
        "are accepted: keep it elsewhere and pass its address, or raise limits.payload",
    ),
    "a time zone is an abbreviation": (
        lambda shop: shop.app.cron("@daily", tz="CEST"), drumline.Invalid,
        "'CEST' is not a time zone such as Europe/Berlin; abbreviations do not name one: give a region and a city",
    ),
    "two tasks have one name": (
        Shop.define_again, ValueError, "the task name 'charge' is taken by ",
    ),
    "a task is a generator": (
        Shop.define_generator, TypeError, "numbers is a generator; a task must return its result",
    ),
    "the context is a plain parameter": (
        Shop.define_with_bare_context, TypeError,
        "bare: the parameter 'ctx' is filled by the worker: write it as *, ctx: Context[…] = inject()",
    ),
    "a cron expression has a minute 61": (
        lambda shop: shop.app.cron("61 * * * *"), drumline.Invalid, "cron: minute 61 is not from 0 to 59",
    ),
    "a task that no worker can run is waited for": (
        lambda shop: shop.charge.submit(1).result(timeout=0.1), drumline.WaitTimeout,
        "is still QUEUED after 0.1s; no live worker can run 'charge': start one that has it, with `drumline worker`",
    ),
    "an id is not one": (
        lambda shop: shop.app.handle("nope").status(), drumline.Invalid,
        "id: must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057",
    ),
    "a task does not exist": (
        lambda shop: shop.app.handle("01890a5d-ac96-774b-bcce-b302099a8057").status(), drumline.NotFound,
        "there is no task 01890a5d-ac96-774b-bcce-b302099a8057",
    ),
    "no server runs": (
        lambda _: Drumline("x", url="http://127.0.0.1:1").submit_task("ping"), drumline.Unavailable,
        "there is no Drumline server at http://127.0.0.1:1: ",
    ),
    "nothing says where tasks go": (
        lambda _: Drumline("x").submit_task("ping"), drumline.NoServer,
        "Start one with `drumline dev`, set DRUMLINE_URL, or ask for embedded use with DRUMLINE_DATA",
    ),
    "a URL has no scheme": (
        lambda _: Drumline("x", url="localhost:8080").submit_task("ping"), drumline.Invalid,
        "url: must start with http:// or https://, not 'localhost:8080'",
    ),
    "a version is a number": (
        lambda _: Drumline("x", version=1.4),  # type: ignore[call-overload]
        TypeError, "Drumline: version must be a text, not 1.4",
    ),
    "a version has two lines": (
        lambda _: Drumline("x", version="1\n4"), drumline.Invalid, "version: must not contain control characters",
    ),
    "a result is asked for inside the transaction": (
        Shop.submit_in_open_transaction, drumline.NotCommitted,
        "is not stored: the transaction that submits it is not committed yet, or was rolled back",
    ),
    "a transaction is of another database": (
        Shop.submit_in_another_database, drumline.Invalid,
        "neither Drumline's tables nor an outbox: use the database of the store, or run `drumline outbox install URL`",
    ),
    "a transaction is a text": (
        lambda shop: shop.charge.options(tx="shop").submit(7), TypeError,
        ("tx must be a connection of psycopg 3, asyncpg or sqlite3, a session or connection of SQLAlchemy, or "
        "django.db.connection, not builtins.str"),
    ),
    "a key is used for something else": (
        Shop.reuse_key, drumline.KeyReused, "which was submitted differently",
    ),
    "a task is given where a call belongs": (
        lambda shop: shop.app.submit_many([shop.charge]), TypeError,
        "submit_many: each item must be a call, as task.call(…) gives it, not <Task charge>",
    ),
    "one call is given where a list belongs": (
        lambda shop: shop.app.submit_many(shop.charge.call(1)), TypeError,
        "submit_many: calls must be a list or a tuple of calls, as task.call(…) gives them, not Call(",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_says_what_is_wrong(shop: Shop, mistake: str) -> None:
    make, error, message = MISTAKES[mistake]

    with pytest.raises(error, match=re.escape(message)):
        make(shop)


def test_a_missing_server_is_told_with_what_to_do() -> None:
    with pytest.raises(drumline.Unavailable, match=r"Start one with `drumline dev`, or name yours with DRUMLINE_URL"):
        Drumline("x", url="http://127.0.0.1:1").submit_task("ping")


def test_waiting_that_ends_before_a_retry_tells_the_last_error(shop: Shop) -> None:
    @shop.app.task(name="flaky", retries=3, backoff=3600)
    def flaky() -> None:
        raise ConnectionError("refused")

    with shop.app.running():
        handle: Any = flaky.submit()
        while not handle.attempts():
            with pytest.raises(drumline.WaitTimeout):
                handle.result(timeout=0.1)
        with pytest.raises(drumline.WaitTimeout, match="failed: ConnectionError: refused; it goes on: wait again"):
            handle.result(timeout=0.1)


def test_an_error_of_submit_many_shows_its_field(shop: Shop) -> None:
    with shop.app.running():  # the worker publishes the types
        refused, stored = shop.app.submit_many(shop.charge.call(order) for order in ("seven", 7))

    assert repr(refused) == "Invalid('tasks[0].payload.order: must be a whole number, not a text')"
    assert isinstance(stored, drumline.TaskHandle)


def test_a_failed_task_tells_its_own_error(shop: Shop) -> None:
    with shop.app.running(), pytest.raises(drumline.TaskFailed, match=r"ValueError: order 7 was not paid"):
        shop.refund.submit(7).result(timeout=30)


def test_a_misspelt_name_and_a_payload_that_does_not_fit_are_told(shop: Shop) -> None:
    with shop.app.running():
        with pytest.raises(drumline.WaitTimeout, match="no live worker can run 'chrage'"):
            shop.app.submit_task("chrage", {"order": 1}).result(timeout=0.1)
        with pytest.raises(drumline.Invalid, match="ordr"):
            shop.app.submit_task("charge", {"ordr": 1})
