"""A subscription that is billed each month, for years: each year is a round, so that its records never come to a bound.

drumline dev examples/subscription.py
python examples/subscription.py
"""

from typing import ClassVar

from drumline import Context, Drumline, SignalTimeout, inject

app = Drumline("subscriptions")


class Bank:
    """Stands for the system that charges cards."""

    charged: ClassVar[list[str]] = []


def charge(customer: str, year: int, month: int) -> int:
    Bank.charged.append(f"{customer} {year}-{month:02}")
    return 9


@app.task(name="subscriptions.bill")
async def bill(customer: str, year: int, paid: int = 0, *, ctx: Context[None] = inject()) -> int:
    for month in range(1, 13):
        paid += await ctx.step("charge", charge, customer, year, month, key=month, retries=5, backoff=60)
        try:
            await ctx.wait_for("ended", timeout="30d", key=month)  # no worker waits
        except SignalTimeout:
            continue
        return paid
    return await ctx.restart(bill, customer, year + 1, paid)  # the same task, with the records of a new year


if __name__ == "__main__":
    handle = bill.submit("ada", 2027)
    handle.signal("ended")
    print(handle.result(timeout="1m"))
