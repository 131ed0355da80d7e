"""An order as a saga: each step has an undo, and what was done is undone if a later step fails for good.

drumline dev examples/order_saga.py      # in one terminal
python examples/order_saga.py            # in another
"""

from collections.abc import Callable
from typing import ClassVar

from drumline import Context, Drumline, StepFailed, inject

app = Drumline("saga")


class Warehouse:
    """Stands for the systems of a shop."""

    is_open = True
    done: ClassVar[list[str]] = []


def charge(order: int) -> str:
    Warehouse.done.append(f"charge {order}")
    return f"payment-{order}"


def refund(payment: str) -> None:
    Warehouse.done.append(f"refund {payment}")


def reserve(order: int) -> str:
    Warehouse.done.append(f"reserve {order}")
    return f"shelf-{order}"


def release(shelf: str) -> None:
    Warehouse.done.append(f"release {shelf}")


def ship(order: int) -> str:
    if not Warehouse.is_open:
        raise ConnectionError("the warehouse is closed")
    return f"parcel-{order}"


@app.task(name="saga.fulfil")
async def fulfil(order: int, *, ctx: Context[None] = inject()) -> str:
    undo: list[tuple[str, Callable[[str], None], str]] = []
    try:
        payment = await ctx.step("charge", charge, order, retries=3)
        undo.append(("refund", refund, payment))
        shelf = await ctx.step("reserve", reserve, order, retries=3)
        undo.append(("release", release, shelf))
        return await ctx.step("ship", ship, order, retries=3, backoff=60)
    except StepFailed as failed:  # recorded: after a crash it is raised again, and the rest is undone
        for name, function, value in reversed(undo):
            await ctx.step(name, function, value)
        return f"undone: {failed}"


if __name__ == "__main__":
    print(fulfil.submit(7).result(timeout="1m"))
