"""The log of a process: one event, one line, whoever chose the words; and nothing in it that is nobody's business."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator

import pytest
import structlog

from drumline.core.masking import CURRENT_MASK, Mask
from drumline.core.redaction import Redaction
from drumline.observe.logging import set_up_logging

FORGED = 'x\n12:00:00 [info     ] key.created  by=admin\r\n{"event":"key.created"}\u2028\x1b[2K\x1b[1A\x00'


@pytest.fixture
def err(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield lambda: capsys.readouterr().err
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def say(format: str, **fields: object) -> None:
    set_up_logging("info", format, redaction=Redaction(["*password*", "iban"]))  # type: ignore[arg-type]
    log = structlog.get_logger()
    log.info(FORGED, name=FORGED, **fields)
    logging.getLogger("library").warning("%s", FORGED)


def test_nobody_can_write_a_line_of_their_own_into_the_text(err: Callable[[], str]) -> None:
    say("text")

    said = err()
    lines = said.splitlines()
    assert len(lines) == 2
    assert all(r"x\n12:00:00" in line for line in lines)
    assert "\x1b[2K" not in said


def test_nobody_can_write_an_event_of_their_own_into_the_json(err: Callable[[], str]) -> None:
    say("json")

    said = err()
    events = [json.loads(line) for line in said.split("\n") if line]
    assert [event["message"] for event in events] == [FORGED, FORGED]
    assert "\x1b" not in said


def test_the_lines_of_a_traceback_stand_apart(err: Callable[[], str]) -> None:
    set_up_logging("info", "text")
    try:
        dict[str, str]()[FORGED]
    except KeyError:
        structlog.get_logger().exception("it.failed")

    first, *rest = err().splitlines()
    assert "it.failed" in first
    assert rest
    assert all(line.startswith("    | ") for line in rest)


@pytest.mark.parametrize("format", ["text", "json"])
def test_telling_fields_are_not_written(err: Callable[[], str], format: str) -> None:
    say(format, db_password="hunter2", iban="hunter2", body={"password": "hunter2", "a": 1})

    said = err()
    assert "hunter2" not in said
    assert said.count("[redacted]") == 3


@pytest.mark.parametrize("format", ["text", "json"])
def test_secrets_of_the_task_that_runs_here_are_not_written(err: Callable[[], str], format: str) -> None:
    token = CURRENT_MASK.set(Mask(["hunter2"]))
    try:
        say(format, note="it is hunter2")
    finally:
        CURRENT_MASK.reset(token)

    said = err()
    assert "hunter2" not in said
    assert "it is ***" in said


class Nasty:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_line_whose_fields_cannot_be_shown_raises_nothing(
    err: Callable[[], str], format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own raise
    set_up_logging("info", format)  # type: ignore[arg-type]

    structlog.get_logger().info("order.paid", order=Nasty(), more=[Nasty()])
    logging.getLogger("library").warning("%d", "seven")
    logging.getLogger("library").warning("%s", Nasty())
    logging.getLogger("library").warning("fine", extra={"nasty": Nasty(), 7: 8})  # type: ignore[dict-item]

    said = err()
    assert "order.paid" in said
    assert "library" in said
    assert "fine" in said


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("stream", ["gone", "full", "closed", "narrow", "none"])
def test_a_line_that_cannot_be_written_raises_nothing(
    err: Callable[[], str], stream: str, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    raw = io.FileIO("/dev/full", "w") if stream == "full" else io.BytesIO()
    text = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    if stream == "gone":
        monkeypatch.setattr(text, "write", raise_broken_pipe, raising=False)
    monkeypatch.setattr(sys, "stderr", None if stream == "none" else text)
    set_up_logging("info", format)  # type: ignore[arg-type]
    if stream == "closed":
        text.close()

    structlog.get_logger().info("order.paid", customer="Zoë")
    logging.getLogger("library").warning("Zoë", exc_info=ValueError("ü"))

    if stream == "narrow":
        assert rb"Zo\xeb" in raw.getvalue()  # type: ignore[union-attr]
    assert err() == ""
    raw.close()


def raise_broken_pipe(*_: object) -> None:
    raise BrokenPipeError
