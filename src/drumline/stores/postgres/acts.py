"""Acts as numbers, as the outbox keeps them. The numbers are stored: never reuse one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drumline.core.state import Act

SUBMIT: Final = 0
"""Bringing a task in. It is no act on a task, since there is none before it."""

NUMBER_OF: Final[Mapping[Act, int]] = MappingProxyType(
    {
        Act.UNBLOCK: 1,
        Act.SKIP: 2,
        Act.CLAIM: 3,
        Act.COMPLETE: 4,
        Act.BACK_OFF: 5,
        Act.FAIL: 6,
        Act.SNOOZE: 7,
        Act.RELEASE: 8,
        Act.REAP: 9,
        Act.STOP: 10,
        Act.CANCEL: 11,
        Act.FORCE_CANCEL: 12,
        Act.RESCHEDULE: 13,
        Act.RETRY: 14,
        Act.RESUME: 15,
        Act.PARK: 16,
        Act.WAKE: 17,
        Act.RESTART: 18,
    }
)

ACT_OF: Final[Mapping[int, Act | None]] = MappingProxyType(
    {SUBMIT: None} | {number: act for act, number in NUMBER_OF.items()}
)
"""The acts behind the numbers; none is the submission."""
