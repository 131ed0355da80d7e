from drumline.aio.events import StopEvent


def test_a_stop_calls_those_who_asked_for_it_and_not_those_who_left() -> None:
    stop, called = StopEvent(), []

    def stay() -> None:
        called.append("stay")

    def leave() -> None:
        called.append("leave")

    stop.add_callback(stay)
    stop.add_callback(leave)
    stop.remove_callback(leave)
    stop.set()

    assert stop.is_set()
    assert called == ["stay"]


def test_who_leaves_when_the_stop_calls_disturbs_no_other() -> None:
    stop, called = StopEvent(), []

    def first() -> None:
        stop.remove_callback(first)
        called.append("first")

    def second() -> None:
        called.append("second")

    stop.add_callback(first)
    stop.add_callback(second)
    stop.set()

    assert called == ["first", "second"]
