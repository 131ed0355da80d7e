"""Streams that never raise."""

import io
import os
from pathlib import Path

import pytest

from drumline.core.streams import LenientStream, is_terminal


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
