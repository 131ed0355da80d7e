"""Two tenants side by side: acme has things that nobody else may see, beta looks for them."""

from collections.abc import Mapping
from typing import Any

import httpx

from drumline.core.access import KeyPolicy, Role
from drumline.engine.engine import Engine
from drumline.stores.sealing import AesBox
from tests.harness.parts import use_box

CANARY = "canary"
"""In everything that is acme's; in nothing that anybody else may see."""
UNLIMITED = KeyPolicy(rates=dict.fromkeys(Role), anonymous_rate=None)
ELSEWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


class Tenancy:
    """An API with two tenants, a key of each role in both, and acme's things."""

    def __init__(self, engine: Engine, http: httpx.AsyncClient) -> None:
        self.engine = engine
        self.http = http
        self.keys: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    async def furnish(self) -> None:
        """Make the tenants, their keys and acme's things."""
        for tenant in ("acme", "beta"):
            await self.made("/tenants", name=tenant)
            for role in Role:
                name = f"{CANARY if tenant == 'acme' else tenant} {role}"
                key = await self.made("/keys", name=name, tenant=tenant, role=role)
                self.keys[f"{tenant} {role}"] = key["key"]
                self.ids[f"key of {tenant} {role}"] = key["id"]
        use_box(self.engine, AesBox([b"k" * 32]))
        await self.ask("PUT", f"/api/v1/secrets/{CANARY}-queue", by="acme operator", json={"value": f"{CANARY} value"})
        await self._work()
        await self._act()

    async def _work(self) -> None:
        """Let a worker of acme run a task that leaves a log and a file, while another task waits."""
        names = {"name": f"{CANARY}.work", "queue": f"{CANARY}-queue", "tags": [f"{CANARY} tag"]}
        worker = await self.made(
            "/worker/sessions",
            by="acme worker",
            host=f"{CANARY} host",
            pid=7,
            version="1",
            queues=[],
            types=[{"name": f"{CANARY}.work"}],
            capacity=4,
        )
        self.ids["session"] = worker["session"]
        done = await self.made("/tasks", by="acme submitter", payload={"text": CANARY}, **names)
        self.ids["done"] = done["id"]
        path = f"/worker/sessions/{worker['session']}"
        (task,) = (await self.made(f"{path}/claim", by="acme worker", limit=1))["tasks"]
        epoch = task["lease"]["epoch"]
        await self.made(
            f"{path}/log",
            by="acme worker",
            chunks=[{"task": done["id"], "epoch": epoch, "seq": 0, "text": f"{CANARY} log\n"}],
        )
        await self.ask("PUT", f"/api/v1{path}/artifacts/{done['id']}/file.txt", by="acme worker", content=b"canary")
        error = {"kind": "Oops", "message": CANARY}
        report = {"lease": task["lease"], "outcome": "failed", "error": error, "permanent": True}
        await self.made(f"{path}/settle", by="acme worker", reports=[report])
        waiting = await self.made("/tasks", by="acme submitter", payload={"text": CANARY}, delay=3600, **names)
        self.ids["task"] = waiting["id"]

    async def _act(self) -> None:
        """Let an operator of acme do what leaves something behind."""
        await self.made(f"/queues/{CANARY}-queue/pause", by="acme operator", reason=f"{CANARY} reason")
        limit = {"queue": f"{CANARY}-queue", "max_concurrent": 7}
        await self.ask("PUT", f"/api/v1/limits/{CANARY}-queue", by="acme operator", json=limit)
        view = {"filter": f"name:{CANARY}", "is_shared": True}
        await self.ask("PUT", f"/api/v1/views/tasks/{CANARY}-queue", by="acme operator", json=view)
        made = await self.made(
            "/subscriptions", by="acme operator", name=f"{CANARY} hook", webhook=f"https://{CANARY}.example/hook"
        )
        self.ids["subscription"] = made["id"]
        rule = {"measure": "backlog", "threshold": 5}
        self.ids["alert"] = (await self.made("/alerts", by="acme operator", name=f"{CANARY} alert", **rule))["id"]
        slo = {"task": f"{CANARY}.task", "target": 0.9}
        self.ids["slo"] = (await self.made("/slos", by="acme operator", name=f"{CANARY} slo", **slo))["id"]
        self.ids["delivery"] = (await self.made(f"/subscriptions/{made['id']}/test", by="acme operator"))["id"]
        bulk = await self.made("/bulk", by="acme operator", act="cancel", filter={"tag": f"{CANARY} none"})
        self.ids["bulk"] = bulk["id"]
        job = await self.made("/jobs", by="acme submitter", name=f"{CANARY} job", tasks={"one": {"name": CANARY}})
        self.ids["job"] = job["id"]
        schedule = await self.made(
            "/schedules", by="acme operator", name=f"{CANARY} schedule", cron="0 3 * * *", task={"name": CANARY}
        )
        self.ids["schedule"] = schedule["id"]
        groups = await self.ask("GET", "/api/v1/failures/groups", by="acme viewer")
        self.ids["fingerprint"] = groups.json()["items"][0]["fingerprint"]

    async def ask(
        self, method: str, path: str, *, by: str | None = None, headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        """Send a request with somebody's key; without one as the installation's own administrator."""
        own = {} if by is None else {"X-API-Key": self.keys[by]}
        return await self.http.request(method, path, headers={**own, **(headers or {})}, **more)

    async def made(self, path: str, *, by: str | None = None, **body: Any) -> Any:
        """Make something, and return what was answered."""
        reply = await self.ask("POST", f"/api/v1{path}", by=by, json=body)
        assert reply.is_success, (path, reply.text)
        return reply.json() if reply.content else None
