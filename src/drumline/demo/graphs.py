"""The jobs of the shop: graphs that end well, that fail on the way, and one that is wide."""

from typing import Any, Final

Body = dict[str, Any]

TABLES: Final = ("orders", "customers", "parcels", "returns")


def jobs_of(seed: int) -> list[Body]:
    """Return one job of each kind."""
    return [_export(seed), _month(seed), _pictures(seed), wide_job(seed)]


def _export(seed: int) -> Body:
    tasks: dict[str, Body] = {
        f"extract {table}": {"name": "etl.extract", "queue": "etl", "payload": {"table": f"{table}_{seed}"}}
        for table in TABLES
    }
    tasks |= {
        f"clean {table}": {
            "name": "etl.clean",
            "queue": "etl",
            "needs": [f"extract {table}"],
            "payload": {"part": {"$result": f"extract {table}"}},
        }
        for table in TABLES
    }
    cleaned = [f"clean {table}" for table in TABLES]
    tasks["load"] = {
        "name": "etl.load",
        "queue": "etl",
        "needs": cleaned,
        "payload": {"target": "warehouse", "rows": [{"$result": key} for key in cleaned]},
    }
    tasks["tell"] = _telling("load", "the export is there")
    return {"name": "nightly export", "owner": "data team", "tasks": tasks, "tags": ["etl"]}


def _month(seed: int) -> Body:
    return {
        "name": "close the month",
        "owner": "accounting",
        "tags": ["etl", "monthly"],
        "tasks": {
            "read the books": {"name": "etl.extract", "queue": "etl", "payload": {"table": f"books_{seed}"}},
            "balance": {
                "name": "etl.clean",
                "queue": "etl",
                "needs": ["read the books"],
                "payload": {"part": {"$result": "read the books"}, "share": 1},
            },
            "archive": {
                "name": "etl.load",
                "queue": "etl",
                "retries": 0,
                "needs": ["balance"],
                "payload": {"target": "warehouse_2019", "rows": [{"$result": "balance"}]},
            },
            "publish": _telling("archive", "the month is closed"),
            "call for help": {**_telling("archive", "the month cannot be closed"), "run_if": "any_failed"},
        },
    }


def _pictures(seed: int) -> Body:
    images = [f"scan_{seed}_{number}.tif" for number in range(6)]
    tasks: dict[str, Body] = {
        "receive": {"name": "etl.extract", "queue": "etl", "payload": {"table": f"uploads_{seed}"}},
        **{
            image: {"name": "media.thumbnail", "queue": "media", "needs": ["receive"], "payload": {"image": image}}
            for image in images
        },
    }
    tasks["gallery"] = {**_telling(images[0], "the gallery is ready"), "needs": images, "run_if": "all_done"}
    return {"name": "gallery", "owner": "studio", "tasks": tasks}


def wide_job(seed: int, width: int = 40) -> Body:
    """Return a job with many tasks side by side."""
    shards = [f"shard {number:02d}" for number in range(width)]
    tasks: dict[str, Body] = {
        "plan": {"name": "etl.extract", "queue": "etl", "payload": {"table": f"plan_{seed}"}},
        **{
            shard: {
                "name": "etl.clean",
                "queue": "etl",
                "needs": ["plan"],
                "payload": {"part": {"$result": "plan"}, "share": number},
            }
            for number, shard in enumerate(shards)
        },
        "switch over": {
            "name": "etl.load",
            "queue": "etl",
            "needs": shards,
            "payload": {"target": "index", "rows": [{"$result": shard} for shard in shards]},
        },
        "warm up": _telling("switch over", "the new index is in use"),
    }
    return {"name": "rebuild the index", "owner": "search", "tasks": tasks, "tags": ["index"]}


def _telling(after: str, subject: str) -> Body:
    return {
        "name": "etl.notify",
        "queue": "mail",
        "needs": [after],
        "payload": {"whom": "data team", "subject": subject},
    }
