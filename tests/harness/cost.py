"""What something costs: processor time of this thread, so that neither a busy machine nor other threads count."""

from collections.abc import Callable
from time import thread_time
from typing import TypeVar

T = TypeVar("T")


def seconds(use: Callable[[], object]) -> float:
    """Return the processor time that something takes."""
    began = thread_time()
    use()
    return thread_time() - began


def within(most: float, use: Callable[[], T]) -> T:
    """Return what something gives; fails if it takes more processor time than `most` seconds."""
    began = thread_time()
    given = use()
    taken = thread_time() - began
    assert taken <= most, f"took {taken:.2f} s of processor time, and {most:.2f} s at most were expected"
    return given
