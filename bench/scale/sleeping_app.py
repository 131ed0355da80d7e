"""Tasks that sleep for a month, tasks that do nothing, and one that has many children."""

from drumline import Context, Drumline, inject

app = Drumline("sleeping")


@app.task(name="nap")
async def nap(*, ctx: Context[None] = inject()) -> None:
    """Sleep for 30 days."""
    await ctx.sleep("month", days=30)


@app.task(name="noop")
async def noop() -> None:
    """Do nothing."""


@app.task(name="twice", queue="default")
async def twice(number: int) -> int:
    """Be a child."""
    return 2 * number


@app.task(name="fan_out", queue="parents")
async def fan_out(count: int, *, ctx: Context[None] = inject()) -> int:
    """Have many children."""
    return sum(await ctx.map(twice, range(count), window=1000))
