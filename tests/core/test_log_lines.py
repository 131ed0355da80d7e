"""Lines of captured output: numbers, levels, times and cuts, wherever the pieces end."""

from hypothesis import given
from hypothesis import strategies as st

from drumline.core.log_lines import (
    LOG_START,
    LONGEST_LINE,
    LONGEST_SHOWN,
    LogLevel,
    LogMatch,
    LogPiece,
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
    assert second.at.isoformat() == "2026-02-03T04:05:06.789000+00:00"


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
