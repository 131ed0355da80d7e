"""The fingerprint of an error: the same for the same cause, whatever order, user or host it struck.

What differs from one failure to the next (numbers, ids, times, addresses, paths, quoted texts) is folded away; what is
left of the message, with the error's class and the innermost frame of the user's own code, is the cause. Where the
traceback shows the statement that wrote the message, the statement counts in its place. Of errors that led to others,
the first counts, too. Line numbers do not count: a new version moves them.
"""

import re
from hashlib import sha256
from typing import Final

from msgspec import Struct

from drumline.core.outcome import ErrorInfo
from drumline.core.raise_site import FILE, Raised, chain_of, raise_site
from drumline.core.shorten import shorten

LENGTH: Final = 12
"""Hex digits of a fingerprint."""
LONGEST_SHOWN: Final = 300
"""Characters of a folded message that are kept for people."""
_HEAD: Final = 700
_TAIL: Final = 300
"""What is read of a long message: its beginning, and its end, where programs say what went wrong."""
_LONGEST_TRACEBACK: Final = 8000
"""What is read of a traceback: as much as an event has of it, so that event and dead letter have one fingerprint."""
_MOST_FRAMES: Final = 100
_LONGEST_WORD: Final = 64

_NAMES_CODE: Final = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError", "UnboundLocalError"}
)
"""Errors that quote names from the program, not data: what they quote is the cause."""
_KEY: Final = re.compile(r"""(['"])[A-Za-z_][\w.:-]{0,63}\1""", re.ASCII)
"""What the message of a KeyError is when a name is missing, such as that of a column: that is the cause, too."""

# Everything begins where a word begins, and repeats over signs that cannot begin what follows: a text is read once from
# left to right, however it was made.
# An apostrophe between letters, as in 'O'Brien', is part of what is quoted; b'' and u'' are quotes of Python.
_QUOTED = r"""(?P<text>(?:[bBuU](?=['"]))?(?:"[^"\n]*"|'(?:[^'\n]|(?<=\w)'(?=\w))*'|`[^`\n]*`)(?!\w))"""
_FOLDED = r"""
    (?P<url>[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/?\#"'<>]{1,255}[/?\#][^\s"'<>]+)
  | (?P<uuid>[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?!\w))
  | (?P<date>(?<!\.)(?:
        [0-9]{4}-[0-9]{2}-[0-9]{2}
        (?:[T\ ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:\ ?(?:Z|UTC|GMT)|[+-][0-9]{2}:?[0-9]{2})?)?
      | [0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}
      | (?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\ )?
        [0-9]{1,2}\ (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\ [0-9]{4}
      | [0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?
    )(?!\w))
  | (?P<email>(?<![.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})
  | (?P<address>(?<!\.)(?:
        [0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?
      | \[?(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}\]?(?::[0-9]{1,5})?
    )(?!\w))
  | (?P<path>(?<![/\\.~])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\]?)
  | (?P<number>[+-]?[0-9]\w*(?:[.,][0-9]\w*)*(?:(?<=[eE])[+-][0-9]{1,4})?)
  | (?P<word>[^\W0-9]\w*?[0-9]\w*)
"""
_DATA = re.compile(rf"(?<!\w)(?:{_QUOTED}|{_FOLDED})", re.VERBOSE | re.ASCII)
_CODE = re.compile(rf"(?<!\w)(?:{_FOLDED})", re.VERBOSE | re.ASCII)
_MAY_VARY = re.compile(r"""[0-9"'`@/\\]|::""")

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]{1,4})?([A-Za-z%]{0,4})", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_HEX = re.compile(r"[+-]?(?:0x[0-9A-Fa-f]+|(?=.{8})[0-9A-Fa-f]+)")
_TELLING = re.compile(
    r"(?:status|exit code|status code|error code|return code|errno|signal|HTTP|SQLSTATE)[ :=#]{0,2}$", re.IGNORECASE
)
"""What stands before a number that tells one cause from another."""
_MOST_TELLING_DIGITS: Final = 5
_FINGERPRINT = re.compile(rf"[0-9a-f]{{{LENGTH}}}")
_FRAME = re.compile(r'File "([^"\n]{1,1000})", line [0-9]+, in (\S{1,200})')
_SLASH = re.compile(r"[/\\]")
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python[0-9.]+[/\\]|^<frozen ")


class Fingerprint(Struct, frozen=True):
    """The fingerprint of an error, and its message without the parts that vary."""

    text: str
    message: str


def fingerprint(error: ErrorInfo) -> Fingerprint:
    """Return the fingerprint of an error. Never raises, and takes no longer for one text than for another."""
    short = ErrorInfo(error.kind, error.message, shorten(error.traceback, _LONGEST_TRACEBACK))
    last, first = chain_of(short)
    message, parts = _told(last)
    if first is not None:
        began, more = _told(first)
        parts += more
        message = f"{message}, caused by {first.kind}: {began}" if began else f"{message}, caused by {first.kind}"
    digest = sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return Fingerprint(digest[:LENGTH], message[:LONGEST_SHOWN])


def _told(raised: Raised) -> tuple[str, tuple[str, ...]]:
    """Return the message of an error without what varies, and what tells the error from others."""
    frame = innermost_frame(raised.traceback)
    if site := raise_site(raised):
        return site.template, (raised.kind, site.code, frame)
    message = fold(raised.message, quotes=not _names_code(raised))
    return message, (raised.kind, message, frame)


def _names_code(error: Raised) -> bool:
    return error.kind in _NAMES_CODE or (error.kind == "KeyError" and _KEY.fullmatch(error.message) is not None)


def is_fingerprint(text: str) -> bool:
    """Tell whether a text can be a fingerprint."""
    return _FINGERPRINT.fullmatch(text) is not None


def fold(message: str, *, quotes: bool = True) -> str:
    """Return a message with all that varies replaced by its kind, such as `order <n> of <email> not found`.

    `quotes` says whether quoted texts are data.
    """
    if len(message) > _HEAD + _TAIL:
        message = f"{message[:_HEAD]} … {message[-_TAIL:]}"
    if _MAY_VARY.search(message):
        message = (_DATA if quotes else _CODE).sub(_replaced, message)
    return " ".join(message.split())


def innermost_frame(traceback: str) -> str:
    """Return file and function where the user's own code was last, or else where any code was; nothing if unknown."""
    last = ""
    place = len(traceback)
    for _ in range(_MOST_FRAMES):
        place = traceback.rfind(FILE, 0, place)
        if place < 0:
            break
        if found := _FRAME.match(traceback, place):
            frame = f"{re.split(_SLASH, found[1])[-1]}:{found[2]}"
            if not _LIBRARY.search(found[1]):
                return frame
            last = last or frame
    return last


def _replaced(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "word":
        return _folded_word(found[0])
    if kind == "number":
        return _folded_number(found)
    if kind == "url":
        return _folded_url(found[0])
    return f"<{kind}>"


def _folded_word(word: str) -> str:
    """Replace the digits of a word; all of the word if it is an id: long, with mixed letters and digits."""
    runs = _DIGITS.findall(word)
    if len(word) >= 8 and (len(runs) > 1 or len(word) > _LONGEST_WORD or _HEX.fullmatch(word)):
        return "<id>"
    return _DIGITS.sub("<n>", word)


def _folded_number(found: re.Match[str]) -> str:
    number = found[0]
    plain = _PLAIN_NUMBER.fullmatch(number)
    if plain is None:
        return "<hex>" if _HEX.fullmatch(number) else "<id>"
    if len(number) <= _MOST_TELLING_DIGITS and _TELLING.search(
        found.string[max(found.start() - 16, 0) : found.start()]
    ):
        return number
    return f"<n>{plain[1]}"


def _folded_url(url: str) -> str:
    """Keep which service it is: scheme and host, without user, password and numbers."""
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}://{_DIGITS.sub('<n>', host)}/<path>"
