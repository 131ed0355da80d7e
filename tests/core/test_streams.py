"""Streams that never raise."""

import io
import os
import sys
from pathlib import Path

import pytest

from drumline.core.streams import LenientStream, is_terminal, lenient_streams


def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = open(writing, "w", buffering=1)  # noqa: SIM115, PTH123 - closed below, with the error of its own
    lenient = LenientStream(stream)

    assert lenient.write("a line\n") == 7
    lenient.flush()

    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_full_disk_is_no_error() -> None:
    raw = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 - what is around it would fail when it is closed
    lenient = LenientStream(io.TextIOWrapper(raw, write_through=True))

    lenient.write("x" * 100_000)
    lenient.flush()

    raw.close()


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_stream_that_is_closed_is_no_error(stream: str | None) -> None:
    closed = io.StringIO()
    closed.close()
    lenient = LenientStream(closed if stream else None)

    assert lenient.write("x") == 1
    lenient.flush()
    assert not lenient.isatty()
    assert not is_terminal(closed)


def test_what_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    lenient = LenientStream(io.TextIOWrapper(raw, encoding="latin-1", write_through=True))

    lenient.write("é → \ud800\n")

    assert raw.getvalue() == b"\xe9 \\u2192 \\ud800\n"


def test_what_the_encoding_lacks_is_escaped_where_the_stream_does_not_tell_its_encoding() -> None:
    class Ascii(io.StringIO):
        encoding = None  # type: ignore[assignment]

        def write(self, text: str) -> int:
            text.encode("ascii")
            return super().write(text)

    stream = Ascii()
    LenientStream(stream).write("é")

    assert stream.getvalue() == "\\xe9"


def test_a_lenient_stream_tells_what_its_stream_is() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    lenient, none = LenientStream(stream), LenientStream(None)

    assert (lenient.encoding, none.encoding, LenientStream(io.StringIO()).encoding) == ("latin-1", "utf-8", "utf-8")
    assert (lenient.errors, none.errors) == ("backslashreplace", "backslashreplace")
    assert lenient.buffer is raw
    with pytest.raises(AttributeError, match=r"^buffer$"):
        _ = none.buffer
    with pytest.raises(io.UnsupportedOperation, match=r"^fileno$"):
        none.fileno()


def test_a_lenient_stream_has_the_descriptor_of_its_stream(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        assert LenientStream(stream).fileno() == stream.fileno()


def test_a_flush_reaches_the_stream() -> None:
    raw = io.BytesIO()
    lenient = LenientStream(io.TextIOWrapper(raw, encoding="utf-8"))
    lenient.write("x")
    lenient.flush()

    assert raw.getvalue() == b"x"


def test_a_terminal_is_told_apart() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert is_terminal(Terminal())
    assert LenientStream(Terminal()).isatty()
    assert not is_terminal(io.StringIO())
    assert not is_terminal(None)


def test_standard_streams_are_lenient_inside_the_block_and_themselves_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = io.StringIO(), LenientStream(io.StringIO())
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)

    with lenient_streams():
        inside = [sys.stdout, sys.stderr]
        sys.stdout.write("o")
        sys.stderr.write("e")

    assert all(isinstance(each, LenientStream) for each in inside)
    assert [each.stream for each in inside if isinstance(each, LenientStream)] == [out, err.stream]
    assert out.getvalue() == "o"
    assert (sys.stdout, sys.stderr) == (out, err)
