"""Which statement raised an error, and which error began a chain, as the text of a traceback tells it."""

import pytest
from msgspec.structs import replace

from drumline.core.outcome import ErrorInfo
from drumline.core.raise_site import Raised, Statement, chain_of, raise_site

HEAD = "Traceback (most recent call last):\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def frame(*lines: str) -> str:
    return '  File "/app/shop.py", line 7, in charge\n' + "".join(f"    {line}\n" for line in lines)


def raised(code: str, message: str, *more: str) -> Raised:
    return Raised("LookupError", message, HEAD + frame("charge()") + frame(code, *more) + f"LookupError: {message}")


@pytest.mark.parametrize(
    ("code", "message", "template"),
    [
        ('raise LookupError("no such customer")', "no such customer", "no such customer"),
        ("raise LookupError('no such customer')", "no such customer", "no such customer"),
        ('raise LookupError(f"no customer {name}")', "no customer ada", "no customer <name>"),
        ("raise LookupError(f'no {self.name!r} here')", "no 'ada' here", "no <self.name> here"),
        ('raise LookupError(f"no customer {names[0]}")', "no customer ada", "no customer <value>"),
        ('raise LookupError(f"{a} is not one of {shop:>5}")', "5 is not one of x", "<a> is not one of <shop>"),
        ('raise LookupError("no one %s of %d" % (a, b))', "no one ada of 5", "no one <value> of <value>"),
        ('raise LookupError("no customer %(name)s" % values)', "no customer ada", "no customer <value>"),
        ('raise LookupError("abc", "a longer text")', "a longer text", "a longer text"),
        ('raise LookupError("zzz", "no such one")', "no such one", "no such one"),
        ('raise LookupError(f"zz{a}some longer text")', "zz5some longer text", "zz<a>some longer text"),
    ],
)  # fmt: skip
def test_a_message_that_a_statement_writes_is_read_with_names_for_values(
    code: str, message: str, template: str
) -> None:
    assert raise_site(raised(code, message)) == Statement(code, template)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("charge(order)", "no such customer"),
        ("raise error", "no such customer"),
        ("raise LookupError(name)", "ada"),
        ('raise LookupError("no such customer")', "another message"),
        ('raise LookupError(f"{a}: {b}")', "5: 6"),
        ('raise LookupError("")', ""),
    ],
)
def test_a_message_that_no_statement_is_known_to_write_has_none(code: str, message: str) -> None:
    assert raise_site(raised(code, message)) is None


def test_a_traceback_without_frames_has_no_statement() -> None:
    assert raise_site(Raised("E", "no such customer", "")) is None
    first = Raised("E", "no such customer", 'File "x", line 1\n    raise E("no such customer")\n')
    assert raise_site(first) == Statement('raise E("no such customer")', "no such customer")


def test_a_statement_of_several_lines_is_read_without_what_underlines_it() -> None:
    found = raise_site(raised("raise LookupError(", "no such customer", '"no such customer"', "^^^^^~~~~~^^^^", ")"))
    assert found == Statement('raise LookupError("no such customer")', "no such customer")


def test_a_very_long_statement_is_cut() -> None:
    code = 'raise LookupError("no such customer", ' + "x" * 600
    found = raise_site(raised(code, "no such customer"))
    assert found == Statement(code[:500], "no such customer")
    many = raise_site(raised('raise LookupError("no such customer",', "no such customer", *["y" * 90] * 20))
    assert many is not None
    assert len(many.code) == 500


FIRST = HEAD + frame("connect()") + frame("open(host)") + "net.errors.ConnectionLost: host 7: gone\n"
MIDDLE = HEAD + frame("retry()") + "ValueError: middle\n"
LAST = HEAD + frame("charge()") + "ChargeFailed: no\n"
ERROR = ErrorInfo("ChargeFailed", "no", LAST)


def test_an_error_by_itself_is_the_whole_chain() -> None:
    assert chain_of(ERROR) == (Raised("ChargeFailed", "no", LAST), None)


@pytest.mark.parametrize("link", [CAUSE, DURING])
@pytest.mark.parametrize("other", [CAUSE, DURING])
def test_the_first_and_the_last_error_of_a_chain_are_found(link: str, other: str) -> None:
    last, first = chain_of(replace(ERROR, traceback=FIRST + link + MIDDLE + other + LAST))
    assert last == Raised("ChargeFailed", "no", other[:-1] + "\n" + LAST)
    assert first == Raised("ConnectionLost", "host 7: gone", FIRST)


@pytest.mark.parametrize(
    ("begin", "message"),
    [
        (HEAD + frame("a()") + "Failed: one\ntwo: three\n", "one\ntwo: three"),
        (HEAD + frame("a()") + "\nFailed: one\n", "one"),
        (HEAD + frame("a()") + "Failed\n", ""),
        ('File "x", line 1\nFailed: one\n', "one"),
    ],
)
def test_the_message_of_the_first_error_is_all_after_its_class(begin: str, message: str) -> None:
    assert chain_of(replace(ERROR, traceback=begin + CAUSE + LAST))[1] == Raised("Failed", message, begin)


@pytest.mark.parametrize(
    "begin", ["", "Failed: no frames\n", HEAD + frame("a()"), HEAD + frame("a()") + "no class: x\n"]
)
def test_a_first_error_that_cannot_be_read_is_none(begin: str) -> None:
    last, first = chain_of(replace(ERROR, traceback=begin + CAUSE + LAST))
    assert (last.kind, first) == ("ChargeFailed", None)
