"""The tasks of the shop: they wait, and fail as their arguments decide; nothing leaves their process."""

import asyncio
import json
from hashlib import sha256
from typing import Any, Final

from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, inject
from drumline.sdk.signals import Permanent

app: Final = Drumline("shop")

REGIONS: Final = ("north", "south", "east", "west")


def chance(*facts: object) -> float:
    """Return a number from 0 to 1 that depends on the facts alone."""
    digest = sha256("/".join(map(str, facts)).encode()).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)


def seconds(least: float, most: float, *facts: object) -> float:
    """Return a duration within bounds that depends on the facts alone."""
    return least + (most - least) * chance("seconds", *facts)


class GatewayTimeout(Exception):
    """The payment provider took too long."""


@app.task(name="shop.charge", queue="orders", retries=2, backoff=2.0, timeout=20)
async def charge(
    order_id: int, cents: int, currency: str = "EUR", note: str = "", *, ctx: Context[None] = inject()
) -> dict[str, Any]:
    """Take the money for an order."""
    lot = chance("charge", order_id, ctx.attempt)
    ctx.log.info("charging order %d: %d.%02d %s", order_id, cents // 100, cents % 100, currency)
    await asyncio.sleep(seconds(0.05, 0.5, order_id))
    if chance("card", order_id) < 0.05:
        raise Permanent(f"the card of order {order_id} was refused")
    if lot < 0.12:
        ctx.log.warning("the payment provider does not answer")
        raise GatewayTimeout(f"no answer for order {order_id} within {2 + lot:.1f} s")
    return {"order": order_id, "receipt": f"R-{order_id:06d}", "cents": cents, **({"note": note} if note else {})}


@app.task(name="shop.ship", queue="orders", retries=1)
async def ship(order_id: int, country: str = "DE", *, ctx: Context[None] = inject()) -> dict[str, str]:
    """Hand a parcel to the carrier, and keep its label."""
    await asyncio.sleep(seconds(0.1, 0.8, "ship", order_id))
    label = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="220" height="90"><text x="9" y="50">#{order_id}</text></svg>'
    )
    ctx.put_artifact("label.svg", label, "image/svg+xml")
    return {"parcel": f"PX{order_id * 7919 % 10**9:09d}", "country": country}


@app.task(name="mail.receipt", queue="mail", retries=0)
async def send_receipt(to: str, order_id: int) -> str:
    """Write to a customer."""
    await asyncio.sleep(seconds(0.02, 0.2, "mail", order_id))
    if "@" not in to:
        raise ValueError(f"{to!r} is not a mail address")
    return f"<{order_id}@shop.example>"


@app.task(name="mail.newsletter", queue="newsletter", retries=0)
async def send_newsletter(to: str, issue: int) -> None:
    """Send an issue of the newsletter."""
    await asyncio.sleep(seconds(0.02, 0.1, to, issue))


@app.task(name="media.thumbnail", queue="media", retries=1, backoff=3.0)
async def thumbnail(image: str, width: int = 320, *, ctx: Context[None] = inject()) -> dict[str, Any]:
    """Make a small picture of a large one."""
    for step in range(4):
        ctx.progress(step, 4, ("reading", "decoding", "scaling", "writing")[step])
        await asyncio.sleep(seconds(0.05, 0.35, image, step))
    if chance("image", image) < 0.08:
        _decode(image)
    hue = int(chance("hue", image) * 360)
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{width * 2 // 3}">'
    picture += f'<rect width="100%" height="100%" fill="hsl({hue} 60% 60%)"/></svg>'
    ctx.put_artifact("thumbnail.svg", picture, "image/svg+xml")
    return {"image": image, "width": width, "bytes": len(picture)}


def _decode(image: str) -> None:
    pixels = 40 + int(chance("pixels", image) * 60)
    raise RuntimeError(f"{image} has {pixels} million pixels, more than the 40 that fit into memory")


@app.task(name="search.reindex", queue="search", retries=1, backoff=2.0)
async def reindex(shard: int, documents: int, *, ctx: Context[None] = inject()) -> int:
    """Write a part of the search index anew."""
    await asyncio.sleep(seconds(0.1, 0.9, "shard", shard))
    if chance("shard", shard, documents) < 0.3:
        raise TimeoutError(f"shard {shard} did not answer within {3 + ctx.attempt} s")
    return documents


@app.task(name="import.rows", queue="etl", retries=0)
def import_rows(file: str, line: int) -> int:
    """Read lines of a file that a supplier sent."""
    text = '{"sku": 12, "name": }' if chance(file, line) < 0.25 else '{"sku": 12, "name": "drum"}'
    try:
        return int(json.loads(text)["sku"])
    except ValueError as error:
        raise ImportError(f"line {line} of {file} cannot be read") from error


@app.task(name="report.sales", queue="reports", retries=1, backoff=5.0, timeout=120)
async def sales_report(day: str, region: str = "north", *, ctx: Context[None] = inject()) -> dict[str, Any]:
    """Add up a day's sales; slow on purpose."""
    lines, total = ["hour,cents"], 0
    for hour in range(24):
        ctx.progress(hour, 24, f"{hour:02d}:00")
        await asyncio.sleep(seconds(0.02, 0.25, day, region, hour))
        total += _sales(day, region, hour)
        lines.append(f"{hour},{_sales(day, region, hour)}")
        if hour % 6 == 0:
            ctx.log.info("%s %s: %d cents by %02d:00", day, region, total, hour)
    ctx.put_artifact("sales.csv", "\n".join(lines) + "\n", "text/csv")
    ctx.put_artifact("sales.json", json.dumps({"day": day, "region": region, "cents": total}), "application/json")
    return {"day": day, "region": region, "cents": total}


def _sales(day: str, region: str, hour: int) -> int:
    rates = dict.fromkeys(REGIONS, 1.0)
    return int(rates[region] * 100_000 * chance(day, region, hour))


@app.task(name="etl.extract", queue="etl", retries=1)
async def extract(table: str, *, ctx: Context[None] = inject()) -> dict[str, Any]:
    """Read a table."""
    rows = int(1_000 + 9_000 * chance("rows", table))
    ctx.log.info("reading %s: %d rows", table, rows)
    await asyncio.sleep(seconds(0.2, 1.2, table))
    return {"table": table, "rows": rows}


@app.task(name="etl.clean", queue="etl", retries=1)
async def clean(part: dict[str, Any], share: int = 0) -> int:
    """Drop what makes no sense."""
    await asyncio.sleep(seconds(0.1, 0.9, part.get("table"), share))
    return int(part.get("rows", 0) * 0.98)


@app.task(name="etl.load", queue="etl", retries=0)
async def load(target: str, rows: list[int], *, ctx: Context[None] = inject()) -> int:
    """Write what is left into the warehouse."""
    for number, part in enumerate(rows):
        ctx.progress(number, len(rows), f"{part} rows")
        await asyncio.sleep(0.05)
    if target == "warehouse_2019":
        raise PermissionError(f"the role loader may not write to {target}")
    return sum(rows)


@app.task(name="etl.notify", queue="mail", retries=0)
async def notify(whom: str, subject: str) -> str:
    """Send a notification."""
    await asyncio.sleep(0.1)
    return f"told {whom}: {subject}"


@app.task(name="ml.train", queue="reports", retries=0, timeout=900)
async def train(model: str, epochs: int = 60, *, ctx: Context[None] = inject()) -> dict[str, float]:
    """Teach a model; takes minutes."""
    loss = 1.0
    for epoch in range(epochs):
        loss *= 0.94 + 0.05 * chance(model, epoch)
        ctx.progress(epoch, epochs, f"loss {loss:.4f}")
        ctx.log.info("epoch %d: loss %.4f", epoch, loss)
        await asyncio.sleep(2.0)
    return {"loss": round(loss, 4)}
