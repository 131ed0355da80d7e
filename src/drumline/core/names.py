"""The syntax of names, queues, keys, tags and phone numbers."""

import re
from typing import Final

from drumline.core.errors import Invalid

LONGEST_NAME = 255
LONGEST_QUEUE = 128
LONGEST_TAG = 64
MOST_TAGS = 20
LONGEST_CRON = 1000

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*")


def check_text(text: str, *, field: str, longest: int) -> str:
    """Return a line of free text, or raise `Invalid` if it is blank, too long or has control characters."""
    if not text.strip():
        raise Invalid("must not be blank", field=field)
    if len(text) > longest:
        raise Invalid(f"must be at most {longest} characters", field=field)
    if _CONTROL.search(text):
        raise Invalid("must not contain control characters", field=field)
    return text


def check_name(name: str, *, field: str = "name") -> str:
    """Return a task's name: free text, spaces allowed."""
    return check_text(name, field=field, longest=LONGEST_NAME)


def check_version(version: str, *, field: str = "version") -> str:
    """Return the version of an application: free text."""
    return check_text(version, field=field, longest=LONGEST_NAME)


def check_queue(queue: str, *, field: str = "queue") -> str:
    """Return a queue's name: letters, digits and `_ . : @ -`, since it is part of keys and URLs."""
    if len(queue) > LONGEST_QUEUE:
        raise Invalid(f"must be at most {LONGEST_QUEUE} characters", field=field)
    if _QUEUE.fullmatch(queue) is None:
        raise Invalid("must be letters, digits and _ . : @ - only, and start with a letter or digit", field=field)
    return queue


def check_key(key: str, *, field: str = "idempotency_key") -> str:
    """Return an idempotency key."""
    return check_text(key, field=field, longest=LONGEST_NAME)


def check_limit_key(key: str, *, field: str = "limit_key") -> str:
    """Return the key under which a task counts to limits."""
    return check_text(key, field=field, longest=LONGEST_NAME)


def check_tags(tags: tuple[str, ...], *, field: str = "tags") -> tuple[str, ...]:
    """Return a task's tags, each once, in the order given."""
    if len(tags) > MOST_TAGS:
        raise Invalid(f"must be at most {MOST_TAGS}", field=field)
    checked = [check_text(tag, field=f"{field}[{n}]", longest=LONGEST_TAG) for n, tag in enumerate(tags)]
    return tuple(dict.fromkeys(checked))


# The patterns take no longer than their text is long. `(?!\n)`: in Python `$` also matches before a last line break.
PHONE: Final = r"^\+[1-9][0-9]{6,14}(?!\n)$"
"""A number with its country, as E.164 has it: `+4915112345678`."""
SENDER: Final = r"^(\+[1-9][0-9]{2,14}|[A-Za-z0-9 ]{1,11})(?!\n)$"
"""A number, or a name of up to eleven letters and digits."""
