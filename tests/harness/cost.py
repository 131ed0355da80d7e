"""What something costs: processor time of this process, so that a busy machine does not matter much."""

from collections.abc import Callable
from time import process_time
from typing import TypeVar

T = TypeVar("T")


def seconds(use: Callable[[], object]) -> float:
    """Return the processor time that something takes."""
    began = process_time()
    use()
    return process_time() - began


def within(most: float, use: Callable[[], T]) -> T:
    """Return what something gives; fails if it takes more processor time than `most` seconds."""
    began = process_time()
    given = use()
    taken = process_time() - began
    assert taken <= most, f"took {taken:.2f} s of processor time, and {most:.2f} s at most were expected"
    return given
