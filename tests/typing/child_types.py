"""What type checkers see of children. Never run: `mypy` reads it in `make check`.

Each planted mistake carries the error that it must cause; one that goes unnoticed makes the ignore unused, which is an
error too.
"""

from typing import Never, assert_type

from drumline import ChildFailed, Context, Drumline

app = Drumline("types")


@app.task
async def add(a: int, b: int) -> int:
    return a + b


@app.task
def shout(text: str) -> bytes:
    return text.upper().encode()


def assert_never_returns(_: Never) -> None: ...


async def awaited(ctx: Context[None]) -> None:
    assert_type(await ctx.call(add, 1, b=2), int)
    assert_type(await ctx.call(add.options(queue="q"), 1, 2), int)
    assert_type(await ctx.call(shout.call("x"), key=7, name="n", on_end="abandon"), bytes)
    assert_type(await ctx.map(shout, ["a", "b"], window=10), list[bytes])
    assert_type(await ctx.map_outcomes(shout, ["a"]), list[bytes | ChildFailed])
    assert_type(await ctx.gather(add.call(1, 2), shout.call("x")), tuple[int, bytes])
    assert_type(await ctx.gather(add.call(1, 2), shout.call("x"), add.call(3, 4), key="k"), tuple[int, bytes, int])
    assert_type(await ctx.first(shout.call("x"), shout.call("y")), bytes)
    if ctx.attempt == 2:
        assert_never_returns(await ctx.restart(add, 1, b=2))
    if ctx.attempt == 3:
        await ctx.restart(add, "1", 2)  # type: ignore[arg-type]
    if ctx.attempt == 4:
        await ctx.restart(add, 1)  # type: ignore[call-arg]
    await ctx.call(add, "1", 2)  # type: ignore[call-overload]
    await ctx.call(shout.call("x"), on_end="keep")  # type: ignore[call-overload]
    await ctx.map(shout, [1])  # type: ignore[arg-type]
    await ctx.gather(add, shout)  # type: ignore[call-overload]


def blocking(ctx: Context[None]) -> None:
    assert_type(ctx.blocking.call(add, 1, b=2), int)
    assert_type(ctx.blocking.call(shout.call("x"), key=7), bytes)
    assert_type(ctx.blocking.map(shout, ["a"]), list[bytes])
    assert_type(ctx.blocking.gather(add.call(1, 2), shout.call("x")), tuple[int, bytes])
    assert_type(ctx.blocking.first(add.call(1, 2)), int)
    if ctx.attempt == 2:
        assert_never_returns(ctx.blocking.restart(shout, "x"))
    if ctx.attempt == 3:
        ctx.blocking.restart(shout, 1)  # type: ignore[arg-type]
    ctx.blocking.call(add, 1)  # type: ignore[call-overload]
