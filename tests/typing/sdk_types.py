"""What type checkers see of the SDK. Never run: `mypy` reads it in `make check`, and pyright in `test_pyright.py`.

Each planted mistake carries the error that it must cause; one that goes unnoticed makes the ignore unused, which is an
error too.
"""

import sqlite3
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, assert_type

import drumline
from drumline import (
    Backoff,
    BatchTask,
    Call,
    Context,
    Debounce,
    Drumline,
    DrumlineError,
    Execution,
    ExecutionEnd,
    Mode,
    Singleton,
    Status,
    TaskAttemptInfo,
    TaskHandle,
    TaskRequest,
    as_completed,
    inject,
)

T = TypeVar("T")


@dataclass
class State:
    url: str


@dataclass
class Invoice:
    cents: int


@asynccontextmanager
async def lifespan() -> AsyncGenerator[State]:
    yield State("x")


plain = Drumline("plain", version="1.4.2")
app = Drumline("app", lifespan=lifespan)
assert_type(plain, Drumline[None])
assert_type(app, Drumline[State])


@app.task
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task(queue="billing", max_attempts=8, timeout="30s", backoff=Backoff.constant(1), retry_on=(OSError,))
async def charge(order: int, *, ctx: Context[State] = inject()) -> Invoice:
    assert_type(ctx.state, State)
    ctx.state.url = 5  # type: ignore[assignment]
    return Invoice(order)


@app.task(mode=Mode.PROCESS)
def crunch(numbers: list[int]) -> float:
    return sum(numbers) / 2


# Signatures are kept, and an async function's result is what it returns, not its coroutine.
assert_type(add(1, b=2), int)
coroutine = assert_type(charge(1), Coroutine[Any, Any, Invoice])
assert_type(add.submit(1), TaskHandle[int])
assert_type(charge.submit(1), TaskHandle[Invoice])
assert_type(add.submit(1).result(timeout=5), int)
assert_type(charge.options(delay=timedelta(minutes=1), key="once").submit(1).result(), Invoice)
assert_type(add.call(1), Call[int])
assert_type(app.submit_many([add.call(1), add.call(2)]), list[TaskHandle[int] | DrumlineError])
assert_type(app.submit_many(add.call(n) for n in range(9)), list[TaskHandle[int] | DrumlineError])
assert_type(app.submit_task("shell", {"command": ["true"]}, retries=0), TaskHandle[Any])
assert_type(add.handle("id").status(), Status)


@app.task
def first(items: list[T]) -> T:
    return items[0]


@app.task(queue="billing")
def last(items: Sequence[T], default: T) -> T:
    return items[-1] if items else default


@app.task
async def newest(items: list[T]) -> T:
    return items[0]


# Calls of tasks with different results go together; what each gives back is then not known by its place.
mixed = [add.call(1), charge.call(2), crunch.call([3])]
assert_type(app.submit_many([add.call(1), charge.call(2)]), list[TaskHandle[object] | DrumlineError])  # pyright: ignore[reportAssertTypeFailure] - it tells more
assert_type(app.submit_many(mixed), list[TaskHandle[object] | DrumlineError])  # pyright: ignore[reportAssertTypeFailure] - it tells more
for each in app.submit_many(mixed):
    if not isinstance(each, DrumlineError):
        assert_type(each.status(), Status)

# In a tuple each keeps its own.
one, two, three = app.submit_many((add.call(1), charge.call(2), crunch.call([3])))
assert_type(one, TaskHandle[int] | DrumlineError)
assert_type(two, TaskHandle[Invoice] | DrumlineError)
assert_type(three, TaskHandle[float] | DrumlineError)
assert_type(app.submit_many(tuple(add.call(n) for n in range(9))), tuple[TaskHandle[int] | DrumlineError, ...])

# In a transaction: with `.options(tx=…)` the arguments are checked. With `tx=` among them they cannot be: parameters
# can be added in front of a ParamSpec, but none by name.
connection = sqlite3.connect(":memory:")
assert_type(charge.options(tx=connection).submit(1), TaskHandle[Invoice])
charge.options(tx=connection).submit("one")  # type: ignore[call-overload]
charge.options(tx=connection).submit()  # type: ignore[call-overload]
assert_type(charge.submit(1, tx=connection), TaskHandle[Invoice])
charge.submit("one", tx=connection)

# Iterated over as they end, handles keep their type.
for handle_of_int in as_completed([add.submit(1), add.submit(2)], timeout="1m"):
    assert_type(handle_of_int, TaskHandle[int])
assert_type(add.submit(1).attempts(), tuple[TaskAttemptInfo, ...])


@app.before_submit
def hooked(request: TaskRequest) -> TaskRequest | None:
    return request


@app.around
async def surrounding(execution: Execution) -> AsyncGenerator[None, ExecutionEnd]:
    end = yield
    assert_type(end, ExecutionEnd)
    assert_type(execution.attempt, int)


assert_type(hooked(TaskRequest(name="x")), TaskRequest | None)
app.before_submit(lambda _request: 5)  # type: ignore[type-var]
app.around(add)  # type: ignore[type-var]


@app.batch(max=10, within="200ms", queue="billing")
def charge_many(orders: list[int]) -> list[Invoice | Exception]:
    return [Invoice(order) for order in orders]


@app.batch(max=10, within=0.2)
async def charge_soon(orders: list[int]) -> list[Invoice]:
    return [Invoice(order) for order in orders]


assert_type(charge_many, BatchTask[int, Invoice])
assert_type(charge_soon, BatchTask[int, Invoice])
assert_type(charge_many.submit(1), TaskHandle[Invoice])
charge_many.submit("1")  # type: ignore[call-overload]
app.codec(State, encode=lambda state: state.url, decode=State)
app.codec(State, encode=lambda state: state.address, decode=State)  # type: ignore[attr-defined]
add.options(collapse=Debounce("5s", key="k", at_most="1m", keep="first"))
add.options(collapse=Singleton(while_="sometimes"))  # type: ignore[arg-type]

# Generic functions can be tasks; their arguments are not checked, and their results are Any.
first([1])
first.submit([1])
last.submit([1], 2)
first.options(delay=5).submit(["x"])
assert_type(first.submit([1]).result(), Any)  # pyright: ignore[reportAssertTypeFailure] - it tells more
app.submit_many([first.call([1]), add.call(1)])


async def mixed_async() -> None:
    first_one, _ = await app.asubmit_many((add.call(1), charge.call(2)))
    assert_type(first_one, TaskHandle[int] | DrumlineError)
    async for each_one in as_completed([await charge.asubmit(1)]):
        assert_type(await each_one, Invoice)
    several = await app.asubmit_many([add.call(1), charge.call(2)])
    assert_type(several, list[TaskHandle[object] | DrumlineError])  # pyright: ignore[reportAssertTypeFailure] - it tells more
    handle = await newest.asubmit([1])
    assert_type(await handle, int)


async def awaited() -> None:
    assert_type(await charge(1), Invoice)
    handle = await charge.asubmit(1)
    assert_type(handle, TaskHandle[Invoice])
    assert_type(await handle, Invoice)
    assert_type(await handle.aresult("5s"), Invoice)
    assert_type(await app.asubmit_many([add.call(1)]), list[TaskHandle[int] | DrumlineError])
    assert_type(await charge.asubmit(1, tx=app), TaskHandle[Invoice])
    assert_type(charge.options(tx=app).submit(1), TaskHandle[Invoice])


def mistakes() -> None:
    # Arguments: wrong type, missing, too many, unknown.
    add("1")  # type: ignore[arg-type]
    add.submit("1")  # type: ignore[call-overload]
    add.submit()  # type: ignore[call-overload]
    add.submit(1, 2, 3)  # type: ignore[call-overload]
    add.submit(1, c=2)  # type: ignore[call-overload]
    add.call("1")  # type: ignore[arg-type]
    add.options(tx=app).submit("1")  # type: ignore[call-overload]
    charge.submit("1")  # type: ignore[call-overload]
    charge.options(delay=1).submit("1")  # type: ignore[call-overload]
    crunch.submit(["1"])  # type: ignore[list-item]

    # Options: misspelt, of the wrong type, or a task's setting in the place of a submission's option.
    add.options(dealy=1)  # type: ignore[call-arg]
    add.options(queue=5)  # type: ignore[arg-type]
    add.options(max_attempts=5)  # type: ignore[call-arg]
    app.submit_task("x", prio=1)  # type: ignore[call-arg]
    app.task(retires=1)  # type: ignore[call-overload]

    # Results: used as something else.
    text: str = add.submit(1).result()  # type: ignore[assignment]
    cents: int = charge.submit(1).result()  # type: ignore[assignment]
    add.submit(1).result().cents  # type: ignore[attr-defined]  # noqa: B018
    drumline.TaskHandel  # type: ignore[attr-defined]  # noqa: B018
    app.submit_many([add])  # type: ignore[arg-type]
    app.submit_many([add.call(1)])[0].result()  # type: ignore[union-attr]
    print(text, cents)  # noqa: T201


async def async_mistakes() -> None:
    await add.asubmit("1")  # type: ignore[call-overload]
    number: int = await charge.asubmit(1)  # type: ignore[assignment]
    number = await (await charge.asubmit(1))  # type: ignore[assignment]
    await add.submit(1).acancel(reason="x")  # type: ignore[call-arg]
    print(number)  # noqa: T201
