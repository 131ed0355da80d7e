"""The page on notifications does what it says: its receiver knows our signatures, and its commands exist."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drumline.core.clock import SystemClock
from drumline.core.signing import secret_text, signature

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "notifications.md").read_text(encoding="utf-8")
REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
OLD, NEW = secret_text(b"o" * 32), secret_text(b"n" * 32)
BODY = b'{"id":"1","type":"drumline.task.failed"}'

ReadMessage = Callable[[str, dict[str, str], bytes], dict[str, Any]]


@pytest.fixture
def read_message() -> ReadMessage:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    reader: ReadMessage = names["read_message"]
    return reader


def headers(*secrets: str, seconds: int | None = None) -> dict[str, str]:
    at = SystemClock().now() // 1000 if seconds is None else seconds
    signed = signature(secrets, id="msg", seconds=at, body=BODY)
    return {"webhook-id": "msg", "webhook-timestamp": str(at), "webhook-signature": signed}


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_the_receiver_takes_what_is_signed_under_either_secret(read_message: ReadMessage, secret: str) -> None:
    assert read_message(secret, headers(NEW, OLD), BODY)["type"] == "drumline.task.failed"


def test_the_receiver_refuses_what_others_sign_what_was_changed_and_what_is_old(read_message: ReadMessage) -> None:
    with pytest.raises(ValueError, match="signature"):
        read_message(OLD, headers(NEW), BODY)
    with pytest.raises(ValueError, match="signature"):
        read_message(NEW, headers(NEW), BODY + b" ")
    with pytest.raises(ValueError, match="signature"):
        read_message(NEW, headers(NEW) | {"webhook-id": "other"}, BODY)
    with pytest.raises(ValueError, match="old"):
        read_message(NEW, headers(NEW, seconds=1_700_000_000), BODY)


def test_every_command_of_the_page_is_in_the_reference() -> None:
    commands = set(re.findall(r"^(drumline \w+ \w+)", PAGE, re.MULTILINE))

    assert len(commands) > 3
    assert {command for command in commands if command not in REFERENCE} == set()
