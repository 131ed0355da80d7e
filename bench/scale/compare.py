"""Two systems measured in turn, so that what disturbs the machine disturbs both alike."""

from typing import Any

from bench.scale.meter import median
from bench.scale.rack import System, drain, submit
from bench.scale.report import say

Sample = dict[str, float]


def compare(plain: System, loaded: System, *, rounds: int, tasks: int) -> dict[str, Any]:
    """Submit and drain on both, in the order A B B A …; return medians and what the loaded one makes of the plain."""
    taken: dict[str, dict[str, list[Sample]]] = {act: {plain.name: [], loaded.name: []} for act in ("submit", "drain")}
    for number in range(rounds):
        for system in (plain, loaded) if number % 2 == 0 else (loaded, plain):
            system.settle_down()
            taken["submit"][system.name].append(submit(system, tasks))
            system.execute("CHECKPOINT")
            taken["drain"][system.name].append(drain(system, tasks))
            say(f"{system.name}: " + ", ".join(f"{act} {taken[act][system.name][-1]}" for act in taken))
    return {act: _ratios(by_system, plain.name, loaded.name) for act, by_system in taken.items()}


def _ratios(samples: dict[str, list[Sample]], plain: str, loaded: str) -> dict[str, Any]:
    medians = {
        name: {key: round(median([sample[key] for sample in taken]), 1) for key in taken[0]}
        for name, taken in samples.items()
    }
    pairs = zip(samples[plain], samples[loaded], strict=True)
    by_round = [(ours["per_s"] / theirs["per_s"], ours["all_us"] / theirs["all_us"]) for theirs, ours in pairs]
    return medians | {
        "speed_ratio": round(median([speed for speed, _ in by_round]), 3),
        "cost_ratio": round(median([cost for _, cost in by_round]), 3),
        "speed_ratios": [round(speed, 3) for speed, _ in by_round],
        "cost_ratios": [round(cost, 3) for _, cost in by_round],
    }
