"""A worker in the script's own process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from drumline import Context, Drumline, Status, TaskCancelled, TaskFailed, inject


@asynccontextmanager
async def lifespan() -> AsyncGenerator[list[str]]:
    yield ["opened"]


def test_tasks_run_inside_the_block(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    @app.task
    async def twice(n: int) -> int:
        return await (await add.asubmit(n, n))

    @app.task(retries=0)
    def fail() -> None:
        raise ValueError("no")

    with app.running():
        assert twice.submit(4).result(timeout=20) == 8
        assert asyncio.run(_awaited(app)) == [0, 2, 4]
        with pytest.raises(TaskFailed, match="ValueError: no"):
            fail.submit().result(timeout=20)

    assert add.submit(1, 1).status() is Status.QUEUED
    app.close()


async def _awaited(app: Drumline[None]) -> list[int]:
    name = next(name for name in app.registry.names if name.endswith("add"))
    handles = [await app.asubmit_task(name, [n, n]) for n in range(3)]
    return list(await asyncio.gather(*handles))


def test_the_lifespan_is_open_while_tasks_run(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path, lifespan=lifespan)

    @app.task
    def seen(*, ctx: Context[list[str]] = inject()) -> list[str]:
        return ctx.state

    with app.running():
        assert seen.submit().result(timeout=20) == ["opened"]


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    @app.task
    def unreadable(value: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
        ...

    with pytest.raises(Exception, match="'Missing' is not defined"), app.running():
        pass


def test_an_app_that_names_a_server_leaves_the_work_to_it() -> None:
    with (
        pytest.raises(RuntimeError, match="drumline worker"),
        Drumline("test", url="http://127.0.0.1:1").running(),
    ):
        pass


def test_a_task_that_has_expired_does_not_run_and_says_so(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    @app.task(expires="1h")
    def add(a: int, b: int) -> int:
        return a + b

    late, other = add.options(expires=0.001).submit(1, 1), add.submit(1, 2)
    with app.running():
        assert other.result(timeout=20) == 3
        with pytest.raises(TaskCancelled, match="had not started by"):
            late.result(timeout=20)

    app.close()
