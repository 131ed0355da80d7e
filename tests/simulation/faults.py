"""Does to a world what the faults of a plan say, and makes all good again when they are over."""

import asyncio

from tests.simulation.plan import FaultStep
from tests.simulation.world import Member, World

USUAL_DELAY = 0.002
DATABASE, KAFKA, RECEIVER = "database", "kafka", "notifier's receiver"


class Faults:
    """The faults of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def run(self, faults: tuple[FaultStep, ...]) -> None:
        """Begin each fault at its time; none ends here."""
        for fault in faults:
            await asyncio.sleep(fault.at - self._world.now)
            if not self._world.is_quiet:
                self._begin(fault)

    def end_all(self) -> None:
        """End every fault: from now on the system is left alone."""
        world = self._world
        world.is_quiet = True
        world.queue_server.frozen_until = world.queue_server.jumbled_until = 0.0
        world.broker.down_until = world.receiver.down_until = 0.0
        world.databases.down_until.clear()
        for member in world.members.values():
            _heal(member)
            world.loop.resume(member.process)
            member.process.drift(0.0, world.loop.time())

    def _begin(self, fault: FaultStep) -> None:
        world, until = self._world, self._world.now + fault.seconds
        lasts = fault.kind not in {"kill", "flush", "clock", "upgrade", "drift"}
        detail = {"amount": fault.amount} if fault.amount else {}
        world.note_fault(fault.kind, self._incarnation(fault.target), until=until if lasts else None, **detail)
        if fault.target in world.members:
            self._hit(world.members[fault.target], fault, until)
            return
        self._hit_all(fault, until)

    def _hit_all(self, fault: FaultStep, until: float) -> None:
        """Begin a fault of the whole installation, or of one of its servers."""
        world = self._world
        match fault.kind:
            case "outage":
                self._cut_off(fault.target, until)
            case "upgrade":
                self._upgrade_all()
            case "flush":
                world.queue_server.flush()
            case "freeze":
                world.queue_server.frozen_until = until
            case "jumble":
                world.queue_server.jumbled_until = until
            case "refuse" if fault.target == KAFKA:
                world.broker.down_until = until
            case "refuse":
                world.receiver.down_until = until
            case _:
                raise ValueError(f"there is no fault {fault.kind} of the installation")

    def _cut_off(self, target: str, until: float) -> None:
        """Let nobody reach the database, or one of several."""
        if target != DATABASE:
            self._world.databases.down_until[target.removeprefix(f"{DATABASE}.")] = until
            return
        for member in self._world.members.values():
            member.wire.cut_until = max(member.wire.cut_until, until)

    def _upgrade_all(self) -> None:
        for number, name in enumerate(self._world.members):
            self._world.loop.call_later(number * 1.0, self._upgrade, name)

    def _incarnation(self, target: str) -> str:
        member = self._world.members.get(target)
        return target if member is None else member.process.name

    def _hit(self, member: Member, fault: FaultStep, until: float) -> None:
        world = self._world
        match fault.kind:
            case "kill":
                world.kill(member.name)
            case "cut":
                member.wire.cut_until = max(member.wire.cut_until, until)
            case "lose":
                member.wire.loss = fault.amount
                world.loop.call_at(until, _lose_nothing, member)
            case "slow":
                member.wire.delay = fault.amount
                world.loop.call_at(until, _be_quick, member)
            case "clock":
                member.process.clock_offset += fault.amount
            case "drift":
                member.process.drift(fault.amount, world.loop.time())
            case "stop":
                process = member.process
                world.loop.suspend(process)
                world.loop.call_at(until, world.loop.resume, process)
            case _:
                raise ValueError(f"there is no fault {fault.kind} of a process")

    def _upgrade(self, name: str) -> None:
        if not self._world.is_quiet:
            self._world.stop_in_order(name)


def _heal(member: Member) -> None:
    _lose_nothing(member)
    _be_quick(member)
    member.wire.cut_until = 0.0


def _lose_nothing(member: Member) -> None:
    member.wire.loss = 0.0


def _be_quick(member: Member) -> None:
    member.wire.delay = USUAL_DELAY
