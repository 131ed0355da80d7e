"""A report for each morning that waits until the books of its day are closed, whoever closes them.

drumline dev examples/cron_waits.py
curl -X POST …/api/v1/signals/books%20closed -d '{"key": "2026-01-02", "payload": {"total": 4200}}'
"""

from dataclasses import dataclass

from drumline import Context, Drumline, SignalTimeout, inject

app = Drumline("books")


@dataclass
class Books:
    total: int


@app.cron("0 6 * * *", tz="Europe/Oslo", name="books.report")
async def report(*, ctx: Context[None] = inject()) -> str:
    assert ctx.fire_time is not None, "a cron task has the time that it is for"
    day = ctx.fire_time.date().isoformat()
    try:
        books = await ctx.wait_for("books closed", Books, timeout="8h", correlation=day)
    except SignalTimeout:
        return f"{day}: the books are still open at two"
    return await ctx.step("report", lambda: f"{day}: {books.total} cents")


if __name__ == "__main__":
    app.signal("books closed", Books(4200), key="2026-01-02")
