"""Clients of the API: they send the operations of a plan over a network that may lose them, and note the answers."""

import asyncio
import json
from random import Random
from typing import Any, Final, NamedTuple

from drumline.testing.loop import SimulatedProcess
from tests.evidence.trace import Operation, Phase
from tests.simulation.durable import SIGNAL
from tests.simulation.network import Answer, NoAnswer, Refused, Request
from tests.simulation.plan import Step
from tests.simulation.processes import KEY
from tests.simulation.world import World

MOST_TRIES: Final = 5
REPEATABLE: Final = frozenset(
    {"pause", "resume", "read", "limit", "peek", "tenant", "subscribe", "forge", "move", "signal"}
)
"""What may be sent again without a key when the answer is unknown."""
CREATED_ONCE: Final = frozenset({"tenant", "subscribe"})
"""What is there already if it is refused with a conflict."""
NOT_FOUND, CONFLICT, UNAVAILABLE = 404, 409, 503


class Call(NamedTuple):
    """A request to the API, before it is written out."""

    method: str
    path: str
    body: Any = None
    tenant: str = ""

    def request(self) -> Request:
        """Write it out."""
        headers = [(b"x-api-key", KEY.encode()), (b"content-type", b"application/json")]
        if self.tenant:
            headers.append((b"x-tenant", self.tenant.encode()))
        content = b"" if self.body is None else json.dumps(self.body).encode()
        return Request(self.method, self.path, headers, content)


class Clients:
    """Carry out the steps of a plan."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ids: dict[str, str] = {}
        """What the steps have made, by their labels: ids of tasks, jobs and schedules."""
        self._count = 0
        self._random = Random(f"clients {world.plan.seed}")
        self.process = SimulatedProcess("clients")

    async def run(self, steps: tuple[Step, ...]) -> None:
        """Carry out all, each at its time."""
        loop = self.world.loop
        running = [loop.start(self.process, self._at_its_time(step), name=step.label) for step in steps]
        for each in running:
            await each

    async def _at_its_time(self, step: Step) -> None:
        await asyncio.sleep(step.at - self.world.now)
        await self.act(step)

    async def act(self, step: Step) -> bool:
        """Carry out one step; tell whether it was acknowledged."""
        call = self._call_of(step)
        if call is None:
            return False
        self._count += 1
        op, body = self._count, call.body or {}
        task = None if "job" in step.what else self._id_of(step.about or "")
        once = body.get("idempotency_key") if isinstance(body, dict) else None
        # Tenants have keys of their own: to judges it is another key.
        key = f"{step.tenant}/{once}" if once and step.tenant else once

        def note(phase: Phase, **more: Any) -> None:
            self.world.trace.append(
                Operation(
                    at=self.world.now, op=op, client=step.client, what=step.what, phase=phase, key=key,
                    detail={"label": step.label, **more.pop("detail", {})}, **{"task": task, **more},
                )
            )  # fmt: skip

        # Judges have to know which tasks the clock may cancel, and what is done to many.
        told = {"expires": True} if "'expires'" in str(body) else {}
        note(Phase.INVOKE, detail=told | ({"act": body["act"]} if step.what == "bulk" else {}))
        may_repeat = step.what in REPEATABLE or once is not None
        answer = await self._send(call, MOST_TRIES if may_repeat else 1)
        if answer is None:
            note(Phase.UNKNOWN)
        elif answer.status == CONFLICT and step.what in CREATED_ONCE:
            note(Phase.OK)
            return True
        elif answer.status == 0 or 400 <= answer.status < 500:
            state = "none" if answer.status == NOT_FOUND and step.what == "read" else None
            note(Phase.FAIL if state is None else Phase.OK, state=state, detail={"status": answer.status})
        else:
            note(Phase.OK, **self._learn(step, body, answer.body))
            return True
        return False

    async def _send(self, call: Call, tries: int) -> Answer | None:
        """Return the answer, one of status 0 if no server has seen the request, or None if nothing is known."""
        is_unknown = False
        for number in range(tries):
            if number:
                await asyncio.sleep(self._random.uniform(0.1, 2.0))
            try:
                answer = await self.world.network.request(call.request())
            except Refused:
                continue
            except NoAnswer:
                is_unknown = True
                continue
            if answer.status >= 500:
                is_unknown = True
                if answer.status != UNAVAILABLE:
                    told = f"{call.method} {call.path} was answered by {answer.status}: {answer.body}"
                    self.world.problems.append(told)
                continue
            return answer
        return None if is_unknown else Answer(0, [], b"")

    def _learn(self, step: Step, sent: Any, body: Any) -> dict[str, Any]:
        """Keep the ids in an answer, and return what the trace notes of it."""
        known: dict[str, Any] = {}
        match step.what:
            case "submit":
                self.ids.setdefault(step.label, body["id"])
                known = {"task": body["id"]}
            case "batch":
                refused = [item for item in body["tasks"] if item.get("id") is None]
                known = {"detail": {"tasks": [item.get("id") for item in body["tasks"]], "refused": refused}}
            case "job":
                self.ids.setdefault(step.label, body["id"])
                needs = sent.get("depends_on", [])
                known = {"detail": {"job": body["id"], "tasks": list(body["tasks"].values()), "needs": needs}}
            case "schedule":
                known = {"detail": {"schedule": body["id"], "max_runs": step.body["max_runs"]}}
            case "read" | "peek":
                known = {"state": body["status"]}
            case "pause" | "resume":
                known = {"detail": {"queue": step.body["queue"]}}
            case "forge":
                known = {"detail": {"accepted": [each for each in body["reports"] if "error" not in each]}}
            case _:
                pass
        return known

    def _call_of(self, step: Step) -> Call | None:
        """Return the request of a step; None if what it is about is not known."""
        about = self._id_of(step.about or "")
        body, tenant = step.body, step.tenant
        calls: dict[str, tuple[str, str, Any]] = {
            "submit": ("POST", "/api/v1/tasks", body),
            "batch": ("POST", "/api/v1/tasks/batch", body),
            "job": ("POST", "/api/v1/jobs", self._with_needed(step)),
            "schedule": ("POST", "/api/v1/schedules", body),
            "limit": ("PUT", "/api/v1/limits/limited", body),
            "pause": ("POST", f"/api/v1/queues/{body.get('queue')}/pause", {}),
            "resume": ("POST", f"/api/v1/queues/{body.get('queue')}/resume", None),
            "bulk": ("POST", "/api/v1/bulk", body),
            "tenant": ("POST", "/api/v1/tenants", body),
            "move": ("POST", "/api/v1/slots/move", body),
            "subscribe": ("POST", "/api/v1/subscriptions", body),
        }
        if step.what in calls:
            return Call(*calls[step.what], tenant)
        if about is None:
            return None
        if step.what == "forge":
            return self._forged(about)
        method, path, sent = {
            "cancel": ("POST", f"/api/v1/tasks/{about}/cancel", None),
            "retry": ("POST", f"/api/v1/tasks/{about}/retry", None),
            "read": ("GET", f"/api/v1/tasks/{about}", None),
            "peek": ("GET", f"/api/v1/tasks/{about}", None),
            "signal": ("POST", f"/api/v1/tasks/{about}/signals/{SIGNAL}", body),
            "reschedule": ("PATCH", f"/api/v1/tasks/{about}", body),
            "cancel_job": ("POST", f"/api/v1/jobs/{about}/cancel", None),
            "resume_job": ("POST", f"/api/v1/jobs/{about}/resume", None),
        }[step.what]
        return Call(method, path, sent, tenant)

    def _id_of(self, label: str) -> str | None:
        """Return what an earlier step has made; of children what is in the store, as somebody who looks sees it."""
        if "." not in label or label in self.ids:
            return self.ids.get(label)
        text = "SELECT id FROM task WHERE json_extract(CAST(payload AS TEXT), '$.label') = ?"
        found = [row for connection in self.world.connections for row in connection.execute(text, (label,))]
        return str(found[0][0]) if found else None

    def _with_needed(self, step: Step) -> dict[str, Any]:
        """Return the body of a job with the ids of the jobs that it waits for, of those that are known."""
        body = {key: value for key, value in step.body.items() if key != "also"}
        needed = [self.ids[label] for label in (step.about, step.body.get("also")) if label in self.ids]
        return {**body, "depends_on": needed} if needed else body

    def _forged(self, task: str) -> Call | None:
        """Return a report on the running attempt of a task with another nonce than its lease has; None if none runs.

        A worker sends such a thing after the database was set back to a backup: its epoch was given out again.
        """
        found = [
            row
            for connection in self.world.connections
            for row in connection.execute(
                "SELECT epoch, session, nonce FROM task_live WHERE id = ? AND state = 2", (task,)
            )
        ]
        if not found:
            return None
        epoch, session, nonce = found[0]
        lease = {"task": task, "epoch": epoch, "nonce": f"{nonce ^ 1:016x}"}
        report = {"outcome": "succeeded", "lease": lease, "result": 0}
        return Call("POST", f"/api/v1/worker/sessions/w-{session:016x}/settle", {"reports": [report]})
