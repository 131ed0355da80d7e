"""The same cause gives the same fingerprint, another cause another one, and no text takes long."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.fingerprint import LENGTH, fingerprint, fold, innermost_frame
from drumline.core.outcome import ErrorInfo

TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line {line}, in charge
    reply = client.get(url)
  File "/srv/.venv/lib/python3.12/site-packages/httpx/_client.py", line 1053, in get
    return self.request(
ValueError: {message}
"""


def of(message: str, kind: str = "ValueError", traceback: str = "") -> str:
    return fingerprint(ErrorInfo(kind, message, traceback)).text


@pytest.mark.parametrize(
    ("message", "folded"),
    [
        ("order 7 not found", "order <n> not found"),
        ("order 1,234.50 not found", "order <n> not found"),
        ("gave up after 1.5s", "gave up after <n>s"),
        ("at 2026-01-02T03:04:05.678Z", "at <date>"),
        ("at 2026-01-02 03:04:05,678+01:00", "at <date>"),
        ("on Mon, 02 Jan 2006 at 15:04:05", "on <date> at <date>"),
        ("task 01890a5d-ac96-774b-bcce-b302099a8057 is gone", "task <uuid> is gone"),
        ("<Order object at 0x7f3a2c>", "<Order object at <hex>>"),
        ("commit deadbeefcafe12 is bad", "commit <id> is bad"),
        ("customer cus_Nf8a0Z9x is unknown", "customer <id> is unknown"),
        ("no user 'ada@example.org' here", "no user <text> here"),
        ("no user ada@example.org here", "no user <email> here"),
        ("10.0.0.7:5432 refused", "<address> refused"),
        ("[fe80::1]:80 refused", "<address> refused"),
        ("cannot read /var/lib/in/42.csv", "cannot read <path>"),
        (r"cannot read C:\in\42.csv", "cannot read <path>"),
        ("https://ada:secret@pay7.example/orders/7?x=1 timed out", "https://pay<n>.example/<path> timed out"),
        ("it's the host's fault", "it's the host's fault"),
        ("customer 'O'Brien' is unknown", "customer <text> is unknown"),
        ("customer 'Smith' is unknown", "customer <text> is unknown"),
        ("""customer "O'Brien" is unknown""", "customer <text> is unknown"),
        ("can't read the users' file 'a' for 'd'Artagnan'", "can't read the users' file <text> for <text>"),
        ("'it's' and 'that's'", "<text> and <text>"),
        ("cannot decode b'abc' nor u'x'", "cannot decode <text> nor <text>"),
        ("two\n\n  lines", "two lines"),
    ],
)
def test_what_varies_is_folded_away(message: str, folded: str) -> None:
    assert fold(message) == folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 7 not found", "order 7 not paid"),
        ("exit code 1", "exit code 127"),
        ("HTTP 404", "HTTP 500"),
        ("[Errno 111] refused", "[Errno 110] refused"),
        ("https://pay.example/x timed out", "https://mail.example/x timed out"),
        ("killed by SIGKILL", "killed by SIGSEGV"),
    ],
)
def test_different_causes_stay_apart(one: str, other: str) -> None:
    assert of(one) != of(other)


def test_the_class_of_an_error_counts() -> None:
    assert of("oops", kind="ValueError") != of("oops", kind="KeyError")


def test_names_from_the_program_are_no_data() -> None:
    message = "'NoneType' object has no attribute '{}'"

    assert of(message.format("name"), "AttributeError") != of(message.format("price"), "AttributeError")
    assert of(message.format("name"), "KeyError") == of(message.format("price"), "KeyError")


def test_a_new_version_or_another_machine_does_not_split_a_group() -> None:
    old = TRACEBACK.format(line=12, message="x")
    new = TRACEBACK.format(line=40, message="x").replace("/srv/", "/home/ada/app/")

    assert of("x", traceback=old) == of("x", traceback=new)


def test_the_same_words_from_another_place_are_another_cause() -> None:
    there = TRACEBACK.format(line=12, message="x")

    assert of("x", traceback=there) != of("x", traceback=there.replace("charge", "refund"))


def test_the_innermost_frame_is_that_of_the_users_own_code() -> None:
    assert innermost_frame(TRACEBACK.format(line=1, message="x")) == "tasks.py:charge"
    assert innermost_frame("no traceback at all") == ""
    library = 'File "/usr/lib/python3.12/json/decoder.py", line 1, in decode'
    assert innermost_frame(library) == "decoder.py:decode"


@given(st.text(string.ascii_letters + " ", max_size=40), st.integers(0, 10**12), st.integers(0, 10**12))
def test_numbers_never_tell_causes_apart(words: str, one: int, other: int) -> None:
    assert of(f"{words} item {one} lost") == of(f"{words} item {other} lost")


@given(st.uuids(), st.uuids(), st.datetimes(), st.datetimes())
def test_ids_and_times_never_tell_causes_apart(one: object, other: object, then: object, now: object) -> None:
    assert of(f"{one} failed at {then}.") == of(f"{other} failed at {now}.")


WORDS = st.text(string.ascii_letters, min_size=1, max_size=10)
PARTS = st.one_of(
    WORDS,
    st.integers().map(str),
    st.uuids().map(str),
    st.datetimes().map(str),
    st.ip_addresses().map(str),
    WORDS.map(lambda word: f"{word}@example.org"),
    WORDS.map(lambda word: f"'{word}'"),
    WORDS.map(lambda word: f"/srv/{word}/x.csv"),
)


@given(st.lists(PARTS, max_size=10))
def test_folding_a_folded_message_changes_nothing(parts: list[str]) -> None:
    folded = fold(" ".join(parts))

    assert fold(folded) == folded


@given(st.text(), st.text(), st.text())
def test_any_error_has_a_fingerprint(kind: str, message: str, traceback: str) -> None:
    made = fingerprint(ErrorInfo(kind, message, traceback))

    assert len(made.text) == LENGTH
    assert set(made.text) <= set(string.hexdigits.lower())
    assert made == fingerprint(ErrorInfo(kind, message, traceback))


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "'",
        "\"'`",
        "/a",
        "a-",
        "1.",
        "a@",
        "::",
        "x://",
        'File "',
        "\\",
        "0-",
        "a1",
        "1:2",
        " ",
        "[:",
        "~/",
        "1e",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    error = ErrorInfo("Error", text, text)
    began = time.process_time()

    fingerprint(error)

    assert time.process_time() - began < 0.2


def test_a_missing_key_is_told_from_another() -> None:
    assert of("'price'", kind="KeyError") != of("'name'", kind="KeyError")
    assert fingerprint(ErrorInfo("KeyError", "'price'")).message == "'price'"


@pytest.mark.parametrize(("one", "other"), [("'order-17'", "'order-18'"), ("17", "18"), ("'a b'", "'c d'")])
def test_missing_keys_that_are_data_are_one_cause(one: str, other: str) -> None:
    assert of(one, kind="KeyError") == of(other, kind="KeyError")


def test_the_fingerprints_of_earlier_versions_stay() -> None:
    assert of("order 7 of 'ada' not found") == "743211fe4539"
    assert of("name 'total' is not defined", kind="NameError") == "0a56364c1ccd"


@pytest.mark.parametrize("piece", ["'", "'a", "a'", "'a'b", " 'a 'b", "b'", "''", "' "])
def test_no_text_of_apostrophes_takes_long(piece: str) -> None:
    begun = time.process_time()
    fold(piece * 100_000)
    assert time.process_time() - begun < 1
