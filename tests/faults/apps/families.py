"""Tasks that start others: recursive calls, a map, and one whose children wait for ever."""

from drumline import Context, Drumline, inject

app = Drumline("families")


@app.task(name="fib", retries=100, backoff=0.1)
async def fib(n: int, *, ctx: Context[None] = inject()) -> int:
    """Add the two numbers before; each is another task."""
    if n < 2:
        return n
    return await ctx.call(fib.call(n - 1), key=1) + await ctx.call(fib.call(n - 2), key=2)


@app.task(name="square", retries=100, backoff=0.1)
def square(x: int) -> int:
    """Square a number."""
    return x * x


@app.task(name="squares", retries=100, backoff=0.1)
async def squares(count: int, *, ctx: Context[None] = inject()) -> int:
    """Add squares, each of which is another task."""
    return sum(await ctx.map(square, list(range(count)), window=20))


@app.task(name="waits", retries=100, backoff=0.1)
async def waits(x: int, *, ctx: Context[None] = inject()) -> int:
    """Sleep longer than any test."""
    await ctx.sleep("long", days=30)
    return x


@app.task(name="tree", retries=100, backoff=0.1)
async def tree(depth: int, *, ctx: Context[None] = inject()) -> list[int]:
    """Start a tree whose leaves wait."""
    if depth == 0:
        return await ctx.map(waits, [1, 2])
    return [len(each) for each in await ctx.map(tree, [depth - 1] * 2)]
