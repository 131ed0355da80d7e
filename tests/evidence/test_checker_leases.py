"""Where a trace says when leases were given and given up, our judge explains by what came in their lives only."""

from collections.abc import Callable

import pytest

from tests.evidence import checker
from tests.evidence.histories import History

Life = tuple[float, float]


def repeated(h: History, *lives: Life, outcome: str = "released", wait: int = 0, epoch: int = 2) -> None:
    """Tell of a task that ran twice, the first time some lines after now; `lives` are those of its two leases."""
    h.do("submit", task="t")
    for number in range(wait):
        h.do("read", task=f"other {number}", state="none")
    h.run("t", "begin", "end", epoch=1)
    h.run("t", "begin", "end", worker="w2", epoch=epoch)
    since, until = zip(*lives, strict=True)
    h.final("t", "COMPLETED", outcome, "completed", epochs=(1, 2), leased=since, ended=until)


def answer_that_came_late(h: History) -> int:
    h.fault("lose_reply", "api", until=1)
    repeated(h, (0.5, 20.5), (20.6, 23.0), wait=8)
    return 1


def silence_that_began_before_the_lease(h: History) -> int:
    h.fault("lose_reply", "api", until=9)
    repeated(h, (10.0, 20.5), (20.6, 23.0), wait=8, outcome="crashed")
    return 1


def attempt_that_ended_by_itself(h: History) -> int:
    repeated(h, (1.0, 4.0), (4.1, 6.0), outcome="parked")
    return 0


def parked_and_stopped_before_it_was_told(h: History) -> int:
    """Where the trace has no times of leases, the attempts say by their epochs which execution ended by itself."""
    h.do("submit", task="t")
    h.run("t", "begin", "error", epoch=1)
    h.run("t", "begin", "stopped", epoch=4)
    h.run("t", "begin", "error", epoch=7)
    h.run("t", "begin", "error", epoch=9, attempt=2)
    h.final("t", "FAILED", "parked", "parked", "retried", "failed", epochs=(1, 4, 7, 9))
    return 0


def operator_who_retried(h: History) -> int:
    h.begin("retry", task="t")
    repeated(h, (1.0, 4.0), (4.1, 6.0), outcome="failed")
    return 1


def limit_whose_lease_was_given_up(h: History) -> int:
    h.fault("kill", "w1")
    h.run("t", "begin", limit="one/1", epoch=1)
    h.run("t", "begin", "end", worker="w2", limit="one/1", epoch=2)
    h.final("t", "COMPLETED", "crashed", "completed", epochs=(1, 2), leased=(0.5, 1.8), ended=(1.7, 4.0))
    return 1


@pytest.mark.parametrize(
    "tell",
    [
        answer_that_came_late, silence_that_began_before_the_lease, attempt_that_ended_by_itself, operator_who_retried,
        limit_whose_lease_was_given_up, parked_and_stopped_before_it_was_told,
    ],
)  # fmt: skip
def test_what_came_in_the_life_of_a_lease_explains_its_loss(tell: Callable[[History], int]) -> None:
    history = History()
    explained = tell(history)

    judgement = checker.judge(history.lines)

    assert judgement.findings == []
    assert len(judgement.explanations) == explained


def fault_before_the_lease(h: History) -> str:
    h.fault("lose_reply", "api", until=2)
    repeated(h, (2.5, 4.0), (4.1, 7.0))
    return "and no fault explains it"


def fault_after_the_lease(h: History) -> str:
    repeated(h, (1.0, 4.0), (4.6, 5.0))
    h.fault("kill", "w1")
    return "and no fault explains it"


def repeat_under_one_lease(h: History) -> str:
    h.fault("kill", "w1", until=9)
    repeated(h, (1.0, 4.0), (4.1, 7.0), epoch=1)
    return "under the same lease"


def repeat_of_what_had_completed(h: History) -> str:
    h.fault("kill", "w1", until=9)
    repeated(h, (1.0, 4.0), (4.1, 7.0), outcome="completed")
    return "whose attempt was completed, and no operator has retried it"


def crash_that_nothing_explains(h: History) -> str:
    """A task whose other attempts ended by themselves."""
    h.do("submit", task="t")
    h.run("t", "begin", "error", epoch=1)
    h.run("t", "begin", "stopped", epoch=4)
    h.run("t", "begin", "end", epoch=7)
    h.final("t", "COMPLETED", "parked", "crashed", "completed", epochs=(1, 4, 7))
    return "and no fault explains it"


def limit_under_a_lease_that_lives(h: History) -> str:
    h.fault("kill", "w1")
    h.run("t", "begin", limit="one/1", epoch=1)
    h.run("t", "begin", "end", worker="w2", limit="one/1", epoch=2)
    h.final("t", "COMPLETED", "crashed", "completed", epochs=(1, 2), leased=(0.5, 1.8), ended=(3.5, 4.0))
    return "the limit one/1 was exceeded at 2.000: 2 executions held it"


@pytest.mark.parametrize(
    "plant",
    [
        fault_before_the_lease, fault_after_the_lease, repeat_under_one_lease, repeat_of_what_had_completed,
        limit_under_a_lease_that_lives, crash_that_nothing_explains,
    ],
)  # fmt: skip
def test_what_came_at_another_time_or_to_an_attempt_that_ended_explains_nothing(
    plant: Callable[[History], str],
) -> None:
    history = History()
    sentence = plant(history)

    assert any(finding.endswith(sentence) for finding in checker.judge(history.lines).findings)
