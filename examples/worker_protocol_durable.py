"""Durable tasks in plain Python, on top of `worker_protocol.py` beside it, which needs an address and a key.

    DRUMLINE_URL=http://127.0.0.1:8080 DRUMLINE_API_KEY=sk_… python examples/worker_protocol_durable.py

It runs tasks named "order" ({"order": 7}): they charge, sleep, and wait for the signal "packed".
"""

from collections.abc import Callable
from typing import Any

from worker_protocol import attempt, call, main


class Parked(BaseException):
    """The attempt has ended in the server: the task waits, or another attempt owns it. No failure of the function."""


class Steps:
    """Durable calls of an attempt: what is recorded under a name is not done again."""

    def __init__(self, path: str, task: dict[str, Any]) -> None:
        self.path, self.lease, self.known = path, task["lease"], dict[str, Any]()
        page, last = task.get("records") or {}, 0
        while task.get("recorded", 0) > last:
            for record in page.get("records", ()):
                self.known[record["name"]], last = record, record["seq"]
            if last < task["recorded"]:
                page = self._ask("records/list", "records", {"lease": self.lease, "after": last})

    def _ask(self, what: str, field: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a call that has this field, or end the attempt: the lease is another's."""
        answer: dict[str, Any] = call("POST", f"{self.path}/{what}", body)
        if field not in answer:
            raise Parked
        return answer

    def step(self, name: str, function: Callable[[], Any]) -> Any:
        """Call a function once and record its result."""
        if name not in self.known:
            new = {"lease": self.lease, "name": name, "value": function()}
            (answer,) = self._ask("records", "records", {"records": [new]})["records"]
            if "record" not in answer:
                raise Parked
            self.known[name] = answer["record"]
        return self.known[name].get("value")

    def wait(self, kind: str, name: str, **until: Any) -> Any:
        """Wait for a time or a signal, without a worker: the task is claimed again when it is there."""
        if name not in self.known:
            waits = [{"kind": kind, "name": name, **until}]
            self.known[name] = self._ask("waits", "answers", {"lease": self.lease, "waits": waits})["answers"][0][
                "record"
            ]
        return self.known[name].get("value")


def order(payload: Any, steps: Steps) -> str:
    payment = steps.step("charge", lambda: f"payment-{payload['order']}")
    steps.wait("sleep", "until packed", delay=0.2)
    return f"{payment}, packed by {steps.wait('signal', 'packed')}"


def run(task: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Run one attempt of an order, and return its report, unless it has ended in the server."""
    try:
        report: dict[str, Any] = attempt(task, lambda payload: order(payload, Steps(path, task)))
    except Parked:
        return None
    return report


if __name__ == "__main__":
    main({"order": run})
