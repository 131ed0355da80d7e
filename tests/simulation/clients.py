"""Clients of the API: they send the operations of a plan over a network that may lose them, and note the answers."""

import asyncio
import json
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from drumline.testing.loop import SimulatedProcess
from tests.evidence.trace import Operation, Phase
from tests.simulation.plan import Step
from tests.simulation.world import KEY, Member, World

ANSWER_SECONDS: Final = 15.0
MOST_TRIES: Final = 5
REPEATABLE: Final = frozenset({"pause", "resume", "read", "limit"})
"""What may be sent again without a key when the answer is unknown."""


class Reply(NamedTuple):
    """An answer of the API."""

    status: int
    body: Any


class Refused(Exception):
    """No server took the request: it has had no effect."""


class NoAnswer(Exception):
    """It is unknown whether the request had an effect."""


class Network:
    """Carries requests to servers, and replies back."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"network {world.plan.seed}")

    async def request(self, method: str, path: str, body: Any = None) -> Reply:
        """Send a request to any server, and return its reply."""
        world = self._world
        servers = [member for member in world.members.values() if member.kind == "api"]
        member = self._random.choice(servers)
        await asyncio.sleep(self._random.random() * 0.01)
        if not member.process.is_alive or member.app is None or member.stop.is_set():
            raise Refused(f"{member.name} is down")
        await self._pass(member)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        content = b"" if body is None else json.dumps(body).encode()
        world.loop.start(member.process, self._serve(member, method, path, content, answer), name=f"{method} {path}")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reply = await answer
        except TimeoutError:
            raise NoAnswer("the server did not answer") from None
        await self._pass(member)
        await asyncio.sleep(self._random.random() * 0.01)
        return reply

    async def _pass(self, member: Member) -> None:
        """Lose what is on its way as often as the server's wires lose."""
        if member.wire.loss and self._random.random() < member.wire.loss:
            await asyncio.sleep(ANSWER_SECONDS)
            raise NoAnswer("lost on the way")

    async def _serve(
        self, member: Member, method: str, path: str, content: bytes, answer: "asyncio.Future[Reply]"
    ) -> None:
        """Have a server answer a request; this runs in the server's process."""
        route, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": route, "raw_path": route.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"x-api-key", KEY.encode()), (b"content-type", b"application/json")],
            "client": ("192.0.2.1", 4711), "server": ("drumline", 80), "state": {},
        }  # fmt: skip
        received = False
        parts: list[bytes] = []
        status = 0

        async def receive() -> dict[str, Any]:
            nonlocal received
            if received:
                await asyncio.get_running_loop().create_future()
            received = True
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                parts.append(message.get("body", b""))

        await member.app(scope, receive, send)
        text = b"".join(parts)
        if not answer.done():
            answer.set_result(Reply(status, msgspec.json.decode(text) if text else None))


class Clients:
    """Carry out the steps of a plan."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.network = Network(world)
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
        op, body = self._count, call[2] or {}
        task = None if "job" in step.what else self.ids.get(step.about or "")
        key = body.get("idempotency_key") if isinstance(body, dict) else None

        def note(phase: Phase, **more: Any) -> None:
            self.world.trace.append(
                Operation(
                    at=self.world.now, op=op, client=step.client, what=step.what, phase=phase, key=key,
                    detail={"label": step.label, **more.pop("detail", {})}, **{"task": task, **more},
                )
            )  # fmt: skip

        note(Phase.INVOKE)
        may_repeat = step.what in REPEATABLE or key is not None
        reply = await self._send(call, MOST_TRIES if may_repeat else 1)
        if reply is None:
            note(Phase.UNKNOWN)
        elif reply.status == 0 or 400 <= reply.status < 500:
            state = "none" if reply.status == 404 else None
            note(Phase.FAIL if step.what != "read" or state is None else Phase.OK, state=state,
                 detail={"status": reply.status})  # fmt: skip
        else:
            note(Phase.OK, **self._learn(step, reply.body))
            return True
        return False

    async def _send(self, call: tuple[str, str, Any], tries: int) -> Reply | None:
        """Return the reply, one of status 0 if no server has seen the request, or None if nothing is known."""
        is_unknown = False
        for number in range(tries):
            if number:
                await asyncio.sleep(self._random.uniform(0.1, 2.0))
            try:
                reply = await self.network.request(*call)
            except Refused:
                continue
            except NoAnswer:
                is_unknown = True
                continue
            if reply.status >= 500:
                is_unknown = True
                if reply.status != 503:
                    self.world.problems.append(f"{call[0]} {call[1]} was answered by {reply.status}: {reply.body}")
                continue
            return reply
        return None if is_unknown else Reply(0, None)

    def _learn(self, step: Step, body: Any) -> dict[str, Any]:
        """Keep the ids in an answer, and return what the trace notes of it."""
        known: dict[str, Any] = {}
        match step.what:
            case "submit":
                self.ids.setdefault(step.label, body["id"])
                known = {"task": body["id"]}
            case "batch":
                known = {"detail": {"tasks": [item.get("id") for item in body["tasks"]]}}
            case "job":
                self.ids.setdefault(step.label, body["id"])
                known = {"detail": {"job": body["id"], "tasks": list(body["tasks"].values())}}
            case "schedule":
                known = {"detail": {"schedule": body["id"], "max_runs": step.body["max_runs"]}}
            case "read":
                known = {"state": body["status"]}
            case "pause" | "resume":
                known = {"detail": {"queue": step.body["queue"]}}
            case _:
                pass
        return known

    def _call_of(self, step: Step) -> tuple[str, str, Any] | None:
        """Return method, path and body of a step; None if what it is about is not known."""
        about = self.ids.get(step.about or "")
        body = step.body
        calls: dict[str, tuple[str, str, Any]] = {
            "submit": ("POST", "/api/v1/tasks", body),
            "batch": ("POST", "/api/v1/tasks/batch", body),
            "job": ("POST", "/api/v1/jobs", {**body, "depends_on": [about]} if about else body),
            "schedule": ("POST", "/api/v1/schedules", body),
            "limit": ("PUT", "/api/v1/limits/limited", body),
            "pause": ("POST", f"/api/v1/queues/{body.get('queue')}/pause", {}),
            "resume": ("POST", f"/api/v1/queues/{body.get('queue')}/resume", None),
            "bulk": ("POST", "/api/v1/bulk", body),
        }
        if step.what in calls:
            return calls[step.what]
        if about is None:
            return None
        return {
            "cancel": ("POST", f"/api/v1/tasks/{about}/cancel", None),
            "retry": ("POST", f"/api/v1/tasks/{about}/retry", None),
            "read": ("GET", f"/api/v1/tasks/{about}", None),
            "reschedule": ("PATCH", f"/api/v1/tasks/{about}", body),
            "cancel_job": ("POST", f"/api/v1/jobs/{about}/cancel", None),
            "resume_job": ("POST", f"/api/v1/jobs/{about}/resume", None),
        }[step.what]
