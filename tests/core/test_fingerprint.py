"""The same cause gives the same fingerprint, another cause another one, and no text takes long."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.fingerprint import LENGTH, fingerprint, fold, innermost_frame, is_fingerprint
from drumline.core.outcome import ErrorInfo
from drumline.core.shorten import shorten

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


RAISED = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 12, in charge
    raise {statement}
{kind}: {message}
"""


def raised(statement: str, message: str, kind: str = "LookupError") -> str:
    return of(message, kind, RAISED.format(statement=statement, kind=kind, message=message))


def test_words_that_the_raising_statement_fills_in_do_not_split_a_group() -> None:
    statement = 'LookupError(f"no customer {name} in {city}")'

    assert raised(statement, "no customer Ada in London") == raised(statement, "no customer Grace Hopper in New York")
    assert raised(statement, "no customer Ada in London") != raised(
        'LookupError(f"no customer {name} left")', "no customer Ada left"
    )
    text = RAISED.format(statement=statement, kind="LookupError", message="no customer Ada in London")
    shown = fingerprint(ErrorInfo("LookupError", "no customer Ada in London", text)).message
    assert shown == "no customer <name> in <city>"
    percent = 'LookupError("no customer %s" % name)'
    assert raised(percent, "no customer Ada") == raised(percent, "no customer Grace")


@pytest.mark.parametrize(
    "statement", ["LookupError(reason)", 'LookupError(f"{reason}")', 'LookupError("never said", reason)', "error"]
)
def test_a_statement_that_did_not_write_the_message_leaves_it_to_tell_causes_apart(statement: str) -> None:
    assert raised(statement, "card refused") != raised(statement, "card expired")


def chained(first: str, order: str) -> ErrorInfo:
    began = f"{RAISED.format(statement='first', kind='shop.Refused', message=first)}"
    message = f"order {order} not paid"
    ended = RAISED.format(statement='PaymentFailed(f"order {order} not paid") from error', kind="x", message=message)
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    return ErrorInfo("PaymentFailed", message, f"{began}{link}{ended}")


def test_the_first_error_of_a_chain_tells_causes_apart() -> None:
    declined, again = fingerprint(chained("card declined", "A")), fingerprint(chained("card declined", "B"))
    expired = fingerprint(chained("card expired", "A"))

    assert declined.text == again.text != expired.text
    assert declined.message == "order <order> not paid, caused by Refused: card declined"


def test_999_failures_of_3_causes_are_3_groups() -> None:
    names = [f"{first} {last}" for first in ("Ada", "Bob", "Eve") for last in string.ascii_letters[:37] * 3]
    groups = {
        raised('LookupError(f"no customer {name}")', f"no customer {name}") for name in names
    } | {fingerprint(chained(f"card of {place} refused", name)).text for place, name in enumerate(names)} | {
        of(f"order {place} was taken by 'worker {name}'", "Conflict") for place, name in enumerate(names)
    }  # fmt: skip

    assert len(names) * 3 == 999
    assert len(groups) == 3


def test_an_event_with_a_shortened_traceback_has_the_fingerprint_of_its_dead_letter() -> None:
    whole = chained("card declined", "A")
    frame = '  File "/usr/lib/python3.12/x.py", line 1, in deeper\n    deeper()\n'
    long = ErrorInfo(whole.kind, whole.message, whole.traceback.replace("Traceback", f"{frame * 300}Traceback", 2))

    assert fingerprint(long) == fingerprint(ErrorInfo(long.kind, long.message, shorten(long.traceback, 8000)))


@pytest.mark.parametrize(
    ("message", "folded"),
    [
        ("order A1B2C3D4 is gone", "order <id> is gone"),
        ("order A1B2C3D is gone", "order A<n>B<n>C<n>D is gone"),
        ("host web12 is gone", "host web<n> is gone"),
        ("host webserver12 is gone", "host webserver<n> is gone"),
        ("at deadbeef1 now", "at <id> now"),
        (f"host w{'x' * 62}1 is gone", f"host w{'x' * 62}<n> is gone"),
        (f"host w{'x' * 63}1 is gone", "host <id> is gone"),
        ("number 0xdeadbeef", "number <hex>"),
        ("number 12ab34cd", "number <hex>"),
        ("number 12xyz99zz", "number <id>"),
        ("took 12.5ms", "took <n>ms"),
        ("exit code 12345", "exit code 12345"),
        ("exit code 123456", "exit code <n>"),
        ("got error code: 42", "got error code: 42"),
        ("get https://ada:pw@host12.example/a?b://c failed", "get https://host<n>.example/<path> failed"),
        ("get https://example.org/a/b?x=1#y failed", "get https://example.org/<path> failed"),
    ],
)
def test_what_varies_is_replaced_by_its_kind(message: str, folded: str) -> None:
    assert fold(message) == folded


def test_of_a_long_message_the_beginning_and_the_end_are_read() -> None:
    assert fold("a" * 1000) == "a" * 1000
    assert fold("a" * 700 + "b" + "c" * 300) == "a" * 700 + " … " + "c" * 300


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("0" * LENGTH, True), ("0" * (LENGTH - 1), False), ("0" * (LENGTH + 1), False), ("g" * LENGTH, False)],
)
def test_a_fingerprint_is_known_by_its_digits(text: str, is_one: bool) -> None:
    assert is_fingerprint(text) is is_one


def test_the_last_error_of_a_chain_counts_as_well_as_the_first() -> None:
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    begin = TRACEBACK.format(line=1, message="gone")
    one = fingerprint(ErrorInfo("A", "one thing", begin + link + "A: one thing"))
    other = fingerprint(ErrorInfo("A", "other thing", begin + link + "A: other thing"))
    assert one.message == "one thing, caused by ValueError: gone"
    assert one.text != other.text
    silent = begin.replace("ValueError: gone", "ValueError")
    assert fingerprint(ErrorInfo("A", "one", silent + link + "A: one")).message == "one, caused by ValueError"


def test_an_error_with_half_a_character_has_a_fingerprint() -> None:
    assert is_fingerprint(of("half \ud800 a character"))


def test_the_innermost_frame_of_own_code_is_found_above_libraries() -> None:
    frames = "".join(
        f'  File "{path}", line 1, in {name}\n'
        for path, name in [
            ("/srv/shop/a.py", "first"), ("/srv/shop/b.py", "second"), ("/x/site-packages/c.py", "third"),
            ("/x/site-packages/d.py", "fourth"),
        ]
    )  # fmt: skip
    assert innermost_frame(frames) == "b.py:second"
    assert innermost_frame(frames[frames.index("/x/") - 8 :]) == "d.py:fourth"
