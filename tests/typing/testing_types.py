"""What type checkers know of the test kit. Never run: an ignore that is not needed fails `mypy --strict`."""

from typing import assert_type

from drumline import Drumline, TaskHandle
from drumline.testing import World, simulated

app = Drumline("typed")


class Gateway:
    """A fake."""

    def charge(self, order: int) -> str:
        """Charge."""
        return str(order)


@app.task
def charge(order: int) -> str:
    """Charge."""
    return str(order)


def uses() -> None:
    """Let types through."""
    with simulated(app) as world:
        assert_type(world, World)
        assert_type(world.submitted(charge, 7), TaskHandle[str])
        assert_type(world.submitted(charge, order=7).result(), str)
        assert_type(world.outside(Gateway()), Gateway)
        assert_type(world.outside(Gateway), Gateway)


def mistakes(world: World) -> None:
    """Be found."""
    world.submitted(charge, "7")  # type: ignore[arg-type]
    world.submitted(charge)  # type: ignore[call-arg]
    world.submitted(charge, 7, 8)  # type: ignore[call-arg]
    world.lose_reply("client")  # type: ignore[arg-type]
    world.travel(step=1)  # type: ignore[call-arg]
    world.outside(Gateway()).charge("7")  # type: ignore[arg-type]


async def in_async_code() -> None:
    """Work there, too."""
    async with simulated(app) as world:
        assert_type(world, World)
