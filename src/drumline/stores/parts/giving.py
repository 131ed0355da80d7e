"""Giving signals by correlation to the tasks that are registered for them, in the order in which these came."""

from typing import Final

from drumline.stores.driver import Transaction

MOST_GIVEN: Final = 100
"""Signals of one key that are given at once."""

SignalKey = tuple[str, str, str]
"""The tenant, the name and the key of signals by correlation."""


async def give_in(transaction: Transaction, key: SignalKey, *, also_here: bool = False) -> None:
    """Give the signals of a key that nobody has to the tasks that are registered. The key is locked.

    A signal whose turn is that of a task of this database is left: that task was woken, and takes it itself. What it
    has left is given to it with `also_here`, so that it says whether it is still waiting.
    """
    tenant, name, text = key
    watches = await transaction.fetch("free_watches", tenant=tenant, name=name, key=text, limit=MOST_GIVEN)
    if not watches:
        return
    signals = await transaction.fetch("free_signals", tenant=tenant, name=name, key=text, limit=len(watches))
    for (seq,), (task, version, is_here) in zip(signals, watches, strict=False):
        if also_here or not is_here:
            await transaction.fetch("give_signal", seq=seq, key=text, task=task, watch=version)
