"""What others wrote is shown on a terminal and commands it nothing."""

import io
import os
import pty
import subprocess
import sys

import pytest

from drumline.cli.streams import CheckedOutput
from drumline.cli.terminal import SafePieces, safe
from tests.black_box.server import Server
from tests.cli.conftest import Drumline

TRICKS = (
    "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1b[2J", "\x1b[1A", "\x1b[6n", "\x1bP+q544e\x1b\\", "\x9b31m",
    "\x90x\x9c", "\x1b[?1049h", "\x08\x08", "\x7f", "\x00", "\x1b(0", "\x1bc", "\x1b[38;5;1", "\x1b[5;31mx\x1b[20h",
    "\x1b",
)  # fmt: skip
ALLOWED = "\n\t"


def is_harmless(text: str) -> bool:
    return all(sign in ALLOWED or not (ord(sign) < 32 or 127 <= ord(sign) < 160) for sign in text)


@pytest.mark.parametrize("trick", TRICKS)
def test_no_control_character_is_left(trick: str) -> None:
    assert is_harmless(safe(f"before{trick}after\n"))
    assert "after" in safe(f"before{trick}after\n")
    pieces = SafePieces(colours=False)
    assert is_harmless("".join(map(pieces.add, f"before{trick}after\n")) + pieces.close())


def test_colours_stay_where_they_are_wanted_and_end_with_the_text() -> None:
    pieces = SafePieces(colours=True)
    shown = "".join(map(pieces.add, "\x1b[1;31mred\x1b[2Jtext\r\n50%\r100%\n")) + pieces.close()

    assert shown == "\x1b[1;31mred\N{REPLACEMENT CHARACTER}[2Jtext\n50%\n100%\n\x1b[0m"
    assert safe("\x1b[1;31mred\x1b[0m") == "red"
    assert safe("plain ümläut 漢字 \U0001f600\n\t") == "plain ümläut 漢字 \U0001f600\n\t"


@pytest.mark.parametrize(("is_terminal", "is_kept"), [(True, False), (False, True)])
def test_only_a_terminal_is_kept_from_what_commands_it(is_terminal: bool, is_kept: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    stream = Stream()
    CheckedOutput(stream).write("a\x1b]0;title\x07b\x1b[31mc")

    assert ("\x1b]0;" in stream.getvalue()) is is_kept
    assert "\x1b[31m" in stream.getvalue()


def task_with_tricks(server: Server) -> str:
    script = "printf '\\033]0;owned\\007a\\033[2Jb\\033[31mc\\n'; exit 3"
    task = server.submit("shell", payload={"shell": script}, retries=0)
    server.until_ended(task)
    return task


def test_what_a_task_wrote_is_printed_without_its_escape_sequences(online: Drumline, server: Server) -> None:
    task = task_with_tricks(server)

    for words in (["logs", task], ["logs", "-f", task], ["tasks", "get", task], ["failures", "list"], ["watch", task]):
        ran = online(*words)
        assert is_harmless(ran.out + ran.err), words
    assert online("logs", task).out.endswith("c\n")
    assert "\x1b]0;owned\x07" in online("logs", task, "--raw").out


def test_a_terminal_gets_colours_of_a_log_and_nothing_else(online: Drumline, server: Server) -> None:
    del online  # the server is what is needed
    task = task_with_tricks(server)
    command = [sys.executable, "-m", "drumline.cli.main"]
    environment = {**os.environ, "DRUMLINE_DATA": str(server.data), "TERM": "xterm"}

    def seen(*words: str) -> str:
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [*command, *words], stdout=theirs, stderr=theirs, env=environment, timeout=60, check=False
        )
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(ours)
        assert done.returncode in {0, 2}
        return text.decode().replace("\r\n", "\n")

    shown = seen("logs", task)
    assert "\x1b[31mc" in shown
    assert is_harmless(shown.replace("\x1b[31m", "").replace("\x1b[0m", ""))
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "--raw is for files and pipes" in seen("logs", task, "--raw")
