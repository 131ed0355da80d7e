"""How much of the logs of attempts and tasks a server keeps."""

import pytest

from drumline.api import log_quota
from drumline.api.log_quota import CHUNK_BYTES, LogQuota
from drumline.ports.store import LogChunk
from tests.factories import new_id

TASK = new_id()
SIZE = 100
"""Characters of a piece, so that it takes as much as this with what it takes besides them."""


def piece(*, epoch: int = 1, seq: int = 0, task: str = TASK) -> LogChunk:
    return LogChunk(task=TASK if task == TASK else new_id(), epoch=epoch, seq=seq, text="x" * (SIZE - CHUNK_BYTES))


def test_what_comes_after_the_limit_of_an_attempt_is_dropped() -> None:
    quota = LogQuota(2 * SIZE, of_task=100 * SIZE)
    pieces = [piece(seq=seq) for seq in range(4)]

    assert quota.fitting(pieces) == pieces[:2]
    assert quota.fitting([piece(epoch=2), piece(task="another")]) != []


def test_attempts_of_a_task_share_its_limit() -> None:
    quota = LogQuota(2 * SIZE, of_task=5 * SIZE)
    pieces = [piece(epoch=1 + number // 2, seq=number % 2) for number in range(8)]
    other = piece(task="another")

    assert quota.fitting([*pieces, other]) == [*pieces[:5], other]


def test_what_an_attempt_may_not_keep_takes_nothing_from_the_others() -> None:
    quota = LogQuota(2 * SIZE, of_task=4 * SIZE)

    quota.fitting([piece(epoch=1, seq=seq) for seq in range(50)])

    later = [piece(epoch=2, seq=seq) for seq in range(2)]
    assert quota.fitting(later) == later


def test_only_so_many_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_quota, "MOST_COUNTED", 2)
    quota = LogQuota(SIZE, of_task=SIZE)
    first = piece()

    assert quota.fitting([first, piece(seq=1), piece(task="another"), piece(task="a third")])[0] == first

    assert quota.fitting([first]) == [first]
