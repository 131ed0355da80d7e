"""What a task's page says of its attempts."""

import pytest

from drumline.cli.describing import attempt_text


@pytest.mark.parametrize(
    ("attempt", "retries", "text"),
    [(0, 3, "0 of 4"), (4, 3, "4 of 4"), (5, 3, "5"), (3, 0, "3")],
)
def test_an_attempt_beyond_the_retries_was_asked_for_by_somebody(attempt: int, retries: int, text: str) -> None:
    assert attempt_text({"attempt": attempt, "retries": retries}) == text
