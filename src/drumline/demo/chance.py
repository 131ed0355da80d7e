"""Luck that can be repeated: the same facts always draw the same lot."""

from hashlib import sha256


def chance(*facts: object) -> float:
    """Return a number from 0 to 1 that depends on nothing but the facts."""
    digest = sha256("/".join(map(str, facts)).encode()).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)


def seconds(least: float, most: float, *facts: object) -> float:
    """Return how long something takes, within bounds."""
    return least + (most - least) * chance("seconds", *facts)
