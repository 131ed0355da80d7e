"""What type checkers see of durable calls. Never run: `mypy` reads it in `make check`, pyright in `test_pyright.py`.

Each planted mistake carries the error that it must cause; one that goes unnoticed makes the ignore unused, which is an
error too.
"""

from datetime import UTC, datetime
from typing import assert_type

from drumline import Backoff, Context


async def charge(order: int, currency: str) -> bytes:
    return f"{order} {currency}".encode()


def count(order: int) -> float:
    return float(order)


async def steps(ctx: Context[None]) -> None:
    assert_type(await ctx.step("charge", charge, 1, "EUR"), bytes)
    assert_type(await ctx.step("charge", charge, 1, "EUR", key=7, retries=3, backoff=Backoff.constant(5)), bytes)
    assert_type(await ctx.step("count", count, 1), float)
    assert_type(await ctx.sleep("nap", "90m"), None)
    assert_type(await ctx.sleep_until("then", datetime(2030, 1, 1, tzinfo=UTC), key="a"), None)
    await ctx.step("count", count, 1, retries="3")  # type: ignore[call-overload]
    await ctx.sleep(3)  # type: ignore[arg-type]


def blocking(ctx: Context[None]) -> None:
    assert_type(ctx.blocking.step("count", count, 1, key="k"), float)
    ctx.blocking.sleep("nap", hours=1)
    ctx.blocking.step("count", count, "1")  # type: ignore[arg-type]
    ctx.blocking.sleep("nap", hours="1")  # type: ignore[arg-type]
