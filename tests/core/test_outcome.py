"""Errors of attempts."""

from drumline.core.outcome import LEFT_OUT, LONGEST_SHORTENED, ErrorInfo


def test_the_size_of_an_error_is_all_its_text() -> None:
    assert ErrorInfo("Kind", "message", "trace").size == 16


def test_a_shortened_error_has_the_beginning_of_its_message_and_says_that_there_was_more() -> None:
    long = ErrorInfo("Kind", "x" * LONGEST_SHORTENED + "y")
    traced = ErrorInfo("Kind", "message", "trace")

    assert long.shortened == ErrorInfo("Kind", "x" * LONGEST_SHORTENED, LEFT_OUT)
    assert traced.shortened == ErrorInfo("Kind", "message", LEFT_OUT)


def test_a_short_error_is_not_shortened() -> None:
    short = ErrorInfo("Kind", "x" * LONGEST_SHORTENED)

    assert short.shortened == short
