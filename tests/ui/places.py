"""The places of the interface: its screens, and the pages of single things on a server with the demo."""

from tests.black_box.server import Server

SCREENS = (
    "/overview", "/tasks", "/tasks?status=failed", "/logs?text=payment", "/failures", "/jobs", "/schedules", "/queues",
    "/workers", "/types", "/bulk", "/alerts", "/notifications", "/audit", "/tenants", "/keys", "/secrets", "/shards",
    "/settings",
)  # fmt: skip


def pages_of(server: Server) -> tuple[str, ...]:
    """Return the pages of single things: a task in each state, jobs in each view, a schedule, a failure, a bulk."""

    def first(path: str, name: str | None = None) -> str:
        items = [one for one in server.ask("GET", f"/api/v1{path}")[1]["items"] if name in {None, one.get("name")}]
        assert items, path
        return str(items[0].get("id") or items[0]["fingerprint"])

    failed = first("/tasks?status=FAILED&name=import.rows")
    job = first("/jobs?status=FAILED&name=close%20the%20month")
    worker = first("/workers")
    return (
        "/queues/media",
        "/types/shop.ship",
        f"/workers/{worker}",
        f"/tasks/{failed}",
        f"/tasks/{failed}?tab=attempts",
        f"/tasks/{first('/tasks?name=ml.train')}?tab=log",
        f"/tasks/{first('/tasks?name=legacy.fax')}",
        f"/tasks/{first('/tasks?status=COMPLETED&name=shop.ship')}?tab=artifacts",
        f"/jobs/{job}",
        f"/jobs/{job}?tab=timeline",
        f"/jobs/{job}?tab=list&node=archive",
        f"/jobs/{first('/jobs?name=rebuild%20the%20index')}",
        f"/jobs/{job}?tab=events",
        f"/jobs/{job}?tab=runs",
        f"/jobs/compare?a={job}&b={first('/jobs?name=rebuild%20the%20index')}",
        f"/tasks/compare?a={failed}&b={first('/tasks?name=legacy.fax')}",
        f"/tasks/compare?a={failed}",
        f"/schedules/{first('/schedules', 'look for new orders')}",
        f"/failures/{first('/failures/groups?name=search.reindex')}",
        f"/bulk/{first('/bulk')}",
    )
