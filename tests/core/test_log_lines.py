"""Lines of captured output: numbers, levels, times and cuts, wherever the pieces end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.clock import moment_of
from drumline.core.log_lines import (
    LOG_START,
    LONGEST_LINE,
    LONGEST_SHOWN,
    SHOWN_BEFORE,
    LogLevel,
    LogMatch,
    LogPiece,
    LogPlace,
    LogScanner,
    LogSought,
)

MOST = 1000


def scanned(texts: list[str], sought: LogSought) -> list[LogMatch]:
    scanner = LogScanner(sought, LOG_START)
    found = [match for seq, text in enumerate(texts) for match in scanner.add(LogPiece(1, seq, 0, text), MOST)]
    last = scanner.close()
    return found if last is None else [*found, last]


def stopping_everywhere(text: str, sought: LogSought) -> list[LogMatch]:
    """Find one line at a time, each with a scanner of its own that begins where the last one stopped."""
    place, found = LOG_START, list[LogMatch]()
    while True:
        scanner = LogScanner(sought, place)
        match = scanner.add(LogPiece(0, 0, place.offset, text[place.offset :]), 1)
        if not match:
            last = scanner.close()
            return found if last is None else [*found, last]
        found += match
        place = scanner.place


pieces = st.lists(st.text(st.sampled_from("aB\n"), max_size=6), max_size=8)


@given(pieces)
def test_it_does_not_matter_where_pieces_end_nor_where_a_search_stops(texts: list[str]) -> None:
    sought = LogSought("b")
    whole = "".join(texts)
    lines = whole.split("\n")
    wanted = [(number, line) for number, line in enumerate(lines, 1) if "b" in line.lower()]

    assert [(match.line, match.text) for match in scanned(texts, sought)] == wanted
    assert [(match.line, match.text) for match in stopping_everywhere(whole, sought)] == wanted


def test_colours_of_terminals_are_left_out_and_do_not_hide_a_text() -> None:
    (match,) = scanned(["\x1b[31mERROR\x1b[0m con\x1b[1mnection\x1b[0m lost\r\n"], LogSought("connection"))

    assert (match.text, match.level) == ("ERROR connection lost", LogLevel.ERROR)


def test_levels_are_those_that_the_log_viewer_reads() -> None:
    text = (
        "DEBUG a\nINFO a\nWARN a\nWARNING a\nERROR a\nCRITICAL a\nFATAL a\nERRORS a\n a\n2026-01-02T03:04:05Z INFO a\n"
    )

    assert [match.level for match in scanned([text], LogSought("a"))] == [
        "debug", "info", "warning", "warning", "error", "error", "error", "error", "error", "info",
    ]  # fmt: skip
    assert scanned(["no level\n"], LogSought("", LogLevel.DEBUG)) == []
    assert [match.line for match in scanned(["ERROR x\n\n \ny"], LogSought("", LogLevel.ERROR))] == [1, 4]


def test_a_time_that_does_not_exist_is_no_time() -> None:
    first, second = scanned(["2026-02-31T00:00:00Z x\n2026-02-03T04:05:06.789Z x\n"], LogSought("x"))

    assert first.at is None
    assert second.at is not None
    assert moment_of(second.at) == "2026-02-03T04:05:06.789Z"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.9999Z"])
def test_a_time_that_cannot_be_stored_is_no_time(time: str) -> None:
    (match,) = scanned([f"{time} INFO x\n"], LogSought("x"))

    assert (match.at, match.level, match.text) == (None, "info", f"{time} INFO x")


def test_of_a_long_line_the_part_with_the_text_is_shown() -> None:
    (match,) = scanned([f"{'a' * 5000}needle{'b' * 5000}\n"], LogSought("needle"))
    (whole,) = scanned([f"{'a' * (LONGEST_SHOWN - 6)}needle\n"], LogSought("needle"))

    assert match.is_cut
    assert len(match.text) == LONGEST_SHOWN + 2
    assert match.text.startswith("…a")
    assert "needle" in match.text
    assert match.text.endswith("b…")
    assert not whole.is_cut


def test_only_the_beginning_of_an_endless_line_is_searched_and_the_next_line_is_found() -> None:
    dots = ["." * 10_000] * 10
    scanner = LogScanner(LogSought("x"), LOG_START)

    found = [match for seq, text in enumerate(["x", *dots, "x"]) for match in scanner.add(LogPiece(1, seq, 0, text), 9)]
    inside = scanner.place
    later = LogScanner(LogSought("x"), inside).add(LogPiece(1, 12, 0, "x\nx2\n"), 9)

    assert [(match.line, match.is_cut) for match in found] == [(1, True)]
    assert inside.is_inside
    assert [(match.line, match.text) for match in later] == [(2, "x2")]
    assert scanned([*dots, "x\n"], LogSought("x")) == []
    assert sum(map(len, dots)) > LONGEST_LINE


def test_lines_of_a_level_and_of_more_severe_ones_are_found() -> None:
    text = "DEBUG a\nINFO a\nWARNING a\nERROR a\n"

    found = {least: [match.line for match in scanned([text], LogSought("a", least))] for least in LogLevel}

    assert found == {
        LogLevel.DEBUG: [1, 2, 3, 4],
        LogLevel.INFO: [2, 3, 4],
        LogLevel.WARNING: [3, 4],
        LogLevel.ERROR: [4],
    }


def test_a_line_has_the_level_of_the_line_before_where_a_search_goes_on() -> None:
    place = LogPlace(3, 2, 10, line=7, level=LogLevel.ERROR)
    scanner = LogScanner(LogSought("", LogLevel.ERROR), place)

    assert scanner.place == place
    (match,) = scanner.add(LogPiece(3, 2, 10, "  a traceback\n"), 9)
    assert (match.line, match.level) == (7, LogLevel.ERROR)
    assert scanner.place == LogPlace(3, 2, 24, line=8, level=LogLevel.ERROR)


def test_a_line_is_of_the_execution_that_began_it() -> None:
    scanner = LogScanner(LogSought("x"), LOG_START)
    pieces = [LogPiece(7, 0, 0, "x1\nx2"), LogPiece(8, 0, 0, "\n-\nx4\nx5")]

    found = [match for piece in pieces for match in scanner.add(piece, 9)]
    last = scanner.close()

    assert [(match.line, match.epoch) for match in found] == [(1, 7), (2, 7), (4, 8)]
    assert last is not None
    assert (last.line, last.epoch) == (5, 8)


def test_no_more_lines_are_found_than_were_asked_for() -> None:
    scanner = LogScanner(LogSought("x"), LOG_START)

    assert [match.line for match in scanner.add(LogPiece(1, 0, 0, "x\n-\nx\nx\n"), 2)] == [1, 3]
    assert scanner.place == LogPlace(1, 0, 6, line=4)


def test_a_search_goes_on_at_the_beginning_of_the_line_that_it_stopped_in() -> None:
    scanner = LogScanner(LogSought("x"), LOG_START)

    scanner.add(LogPiece(1, 0, 0, "a\nbc"), 9)
    assert scanner.place == LogPlace(1, 0, 2, line=2)
    scanner.add(LogPiece(1, 1, 0, "de"), 9)
    assert scanner.place == LogPlace(1, 0, 2, line=2)
    scanner.add(LogPiece(1, 2, 5, "f\ng"), 9)
    assert scanner.place == LogPlace(1, 2, 7, line=3)


def test_a_line_is_given_up_once_it_is_as_long_as_lines_are_searched() -> None:
    scanner = LogScanner(LogSought("x"), LOG_START)
    almost = LONGEST_LINE - 1

    for seq in range(2):  # the second time after a line that ended
        assert scanner.add(LogPiece(7, seq, 0, "." * almost), 9) == []
        assert not scanner.place.is_inside
        assert scanner.add(LogPiece(7, seq, almost, "\n"), 9) == []
    found = scanner.add(LogPiece(7, 2, 5, "x\nx" + " " * almost), 9)

    assert [(match.line, match.epoch, match.text, match.is_cut) for match in found] == [
        (3, 7, "x", False), (4, 7, "x", True),
    ]  # fmt: skip
    assert scanner.place == LogPlace(7, 2, 5 + 3 + almost, line=4, is_inside=True)
    scanner.add(LogPiece(7, 3, 0, "x\n"), 9)
    assert scanner.place == LogPlace(7, 3, 2, line=5)
    assert scanner.add(LogPiece(7, 4, 0, "." * almost), 9) == []
    assert not scanner.place.is_inside


def test_a_whole_line_is_cut_where_lines_are_searched_to() -> None:
    exact, longer = (
        scanned(["x" + " " * blanks + "\n"], LogSought("x")) for blanks in (LONGEST_LINE - 1, LONGEST_LINE)
    )

    assert [match.is_cut for match in (*exact, *longer)] == [False, True]
    assert scanned([" " * LONGEST_LINE + "x\n"], LogSought("x")) == []


def test_a_long_line_is_shown_from_a_little_before_the_first_place_of_the_text() -> None:
    text, rest = "needle", LONGEST_SHOWN - SHOWN_BEFORE - len("needle")
    (begin,) = scanned([text + "a" * 5000 + text], LogSought(text))
    (middle,) = scanned(["b" * 5000 + text + "a" * 5000 + text], LogSought(text))
    (end,) = scanned(["b" * 5000 + text], LogSought(text))

    assert begin.text == text + "a" * (LONGEST_SHOWN - len(text)) + "…"
    assert middle.text == "…" + "b" * SHOWN_BEFORE + text + "a" * rest + "…"
    assert end.text == "…" + "b" * (LONGEST_SHOWN - len(text)) + text
    assert begin.is_cut
    assert middle.is_cut
    assert end.is_cut
