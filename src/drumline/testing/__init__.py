"""Runs apps, and Drumline's own code, in simulated time: an event loop, clocks and a database that repeat exactly.

    from drumline.testing import simulated

    with simulated(app) as world:
        handle = charge.submit(7)
        world.travel("1h")
        assert handle.result() == "paid"

Nothing here sleeps, opens a socket or starts a thread. Names are loaded when they are first used: pytest imports this
package in every run of an environment that has Drumline.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drumline.testing.explore import EffectRepeated, Exploration
    from drumline.testing.loop import Stalled
    from drumline.testing.simulated import Simulation, simulated
    from drumline.testing.submissions import Submission
    from drumline.testing.world import World
    from drumline.testing.world_loop import NoNetwork

__all__ = ["EffectRepeated", "Exploration", "NoNetwork", "Simulation", "Stalled", "Submission", "World", "simulated"]

_HOME_OF: Final = {
    "EffectRepeated": "drumline.testing.explore",
    "Exploration": "drumline.testing.explore",
    "NoNetwork": "drumline.testing.world_loop",
    "Simulation": "drumline.testing.simulated",
    "Stalled": "drumline.testing.loop",
    "Submission": "drumline.testing.submissions",
    "World": "drumline.testing.world",
    "simulated": "drumline.testing.simulated",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
