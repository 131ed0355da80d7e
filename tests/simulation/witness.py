"""The gateway of a simulated worker, with a witness that notes which reports were refused."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from drumline.core.errors import Fenced
from drumline.core.lease import Lease
from drumline.ports.gateway import Acknowledged, Gateway, Report


class Refusal(NamedTuple):
    """A report of a worker that was answered with `Fenced`."""

    at: float
    worker: str
    task: str
    epoch: int
    nonce: int


class WitnessedGateway:
    """A gateway whose answers to reports are looked at; all else goes through as it is."""

    def __init__(self, gateway: Gateway, refused: Callable[[Lease], None]) -> None:
        self._gateway = gateway
        self._refused = refused

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gateway, name)

    async def settle(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        """Report ends of attempts."""
        answers = await self._gateway.settle(reports)
        for report, answer in zip(reports, answers, strict=True):
            if isinstance(answer, Fenced):
                self._refused(report.lease)
        return answers
