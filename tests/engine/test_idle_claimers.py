"""Claimers that wait, in order, by queue and by kind."""

from drumline.engine.idle_claimers import IdleClaimers
from drumline.engine.waiting import Waiter


def _claimer(*queues: str, names: tuple[str, ...] = ("noop",)) -> Waiter:
    return Waiter((queues, names, None))


def test_those_who_serve_a_queue_are_found_longest_waiting_first_also_if_they_serve_all() -> None:
    mail, every, pdf, both = _claimer("mail"), _claimer(), _claimer("pdf"), _claimer("mail", "pdf")
    idle = IdleClaimers()
    for waiter in (mail, every, pdf, both):
        idle.add(waiter)
    assert idle.serving("mail", 9) == [mail, every, both]
    assert idle.serving("pdf", 2) == [every, pdf]
    assert idle.serving("other", 9) == [every]


def test_one_that_is_added_twice_keeps_its_place_and_one_that_left_comes_last() -> None:
    first, second = _claimer("mail"), _claimer()
    idle = IdleClaimers()
    for waiter in (first, second, first):
        idle.add(waiter)
    assert idle.serving("mail", 9) == [first, second]
    idle.discard(first)
    idle.add(first)
    assert idle.serving("mail", 9) == [second, first]


def test_those_of_a_kind_are_found_among_others() -> None:
    noop, other, again = _claimer("mail"), _claimer("mail", names=("other",)), _claimer("mail")
    idle = IdleClaimers()
    for waiter in (noop, other, again):
        idle.add(waiter)
    assert idle.of_kind(noop.kind, 9) == [noop, again]
    assert idle.of_kind(_claimer("pdf").kind, 9) == []


def test_nothing_is_kept_of_those_who_left() -> None:
    idle = IdleClaimers()
    twice = _claimer("mail", "mail")
    idle.add(twice)
    idle.discard(twice)
    idle.discard(twice)
    assert (len(idle), list(idle), twice in idle) == (0, [], False)
    assert (idle.serving("mail", 9), idle.of_kind(twice.kind, 9)) == ([], [])
