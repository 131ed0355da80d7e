"""Faults planted in product code: each has to be found by the simulation, or the simulation is worth nothing."""
