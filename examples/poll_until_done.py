"""Another system works for hours: start it once, look now and then, fetch what it made.

drumline dev examples/poll_until_done.py
python examples/poll_until_done.py
"""

from typing import ClassVar

from drumline import Context, Drumline, Permanent, inject

app = Drumline("exports")


class Exporter:
    """Stands for the other system."""

    looks_needed = 3
    started: ClassVar[list[str]] = []
    looks = 0


def start(table: str) -> str:
    Exporter.started.append(table)
    return f"export-{table}"


def is_done(export: str) -> bool:
    Exporter.looks += 1
    return export.startswith("export-") and Exporter.looks >= Exporter.looks_needed


def fetch(export: str) -> str:
    return f"s3://exports/{export}.parquet"


@app.task(name="exports.run")
async def run_export(table: str, *, ctx: Context[None] = inject()) -> str:
    export = await ctx.step("start", start, table)
    for look in range(50):
        if await ctx.step("look", is_done, export, key=look, retries=5):
            return await ctx.step("fetch", fetch, export)
        await ctx.sleep("until the next look", key=look, seconds=min(10 * 2**look, 3600))  # no worker waits
    raise Permanent(f"{export} is not done after two days")


if __name__ == "__main__":
    print(run_export.submit("orders").result(timeout="5m"))
