"""How phone numbers and senders of text messages are written, as patterns that take no longer than their text is long.

What is not a line break stands before the end: to Python `$` is also before a last one.
"""

from typing import Final

PHONE: Final = r"^\+[1-9][0-9]{6,14}(?!\n)$"
"""A number with its country, as E.164 has it: `+4915112345678`."""
SENDER: Final = r"^(\+[1-9][0-9]{2,14}|[A-Za-z0-9 ]{1,11})(?!\n)$"
"""A number, or a name of up to eleven letters and digits."""
