"""Which process this is, without asking the system each time: a forked child must not use its parent's connections."""

import os


class Forks:
    """How often this process was forked from one that had loaded this module."""

    count: int = 0


def _forked() -> None:
    Forks.count += 1


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_forked)
