"""What workers say of themselves takes a limited number of bytes, in memory and for each tenant."""

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import QuotaExceeded
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec
from drumline.engine.session_cache import FORGET_SECONDS, SessionBounds, SpecCache

SPEC = SessionSpec(host="ada", pid=1, version="1", queues=(), types=(), capacity=1)


def test_specifications_are_cached_up_to_a_number_of_bytes() -> None:
    cache = SpecCache(1000)

    for number in range(10):
        cache.put(SessionId(number), SPEC, 300)
    cache.put(SessionId(99), SPEC, 5000)

    assert [number for number in (*range(10), 99) if cache.get(SessionId(number))] == [7, 8, 9]


def test_a_tenant_has_room_for_some_bytes_of_sessions_and_others_are_not_concerned() -> None:
    clock = ManualClock(Instant(0))
    room = SessionBounds(1000, clock)
    room.opened(SessionId(1), "ada", 900)

    with pytest.raises(QuotaExceeded):
        room.check("ada", 200)
    room.check("bob", 200)
    room.closed(SessionId(1))
    room.check("ada", 200)


def test_sessions_that_were_not_heard_of_do_not_count() -> None:
    clock = ManualClock(Instant(0))
    room = SessionBounds(1000, clock)
    room.opened(SessionId(1), "ada", 500)
    room.opened(SessionId(2), "ada", 500)
    clock.advance(FORGET_SECONDS - 1)
    room.seen(SessionId(2))
    clock.advance(2)

    room.check("ada", 500)
    with pytest.raises(QuotaExceeded):
        room.check("ada", 501)
