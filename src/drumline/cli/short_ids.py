"""Ids that were shortened: their beginning or their end, if only one task or job has it."""

from typing import TYPE_CHECKING, Any, Final

from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

SHORTEST: Final = 4
WHOLE: Final = 36
MOST_SHOWN: Final = 5
_DIGITS: Final = frozenset("0123456789abcdefABCDEF-")


def resolved(client: "ApiClient", noun: str, given: Any) -> Any:
    """Return whole ids for what was given: an id, several, or None. What does not look like one is left as it is.

    `noun` says what they are the ids of, such as `tasks`, or `tasks jobs` if they may be of either.
    """
    if isinstance(given, list):
        return [_resolved(client, noun, one) for one in given]
    return _resolved(client, noun, given) if isinstance(given, str) else given


def _resolved(client: "ApiClient", noun: str, text: str) -> str:
    if not SHORTEST <= len(text) < WHOLE or not _DIGITS.issuperset(text):
        return text
    nouns = noun.split()
    for pattern in (text, f"*{text}"):
        # The beginning is a stretch of time, which an index finds; for the end the newest are looked at.
        found = [
            item
            for each in nouns
            for item in client.get(f"/{each}", filter=f"id:{pattern}", limit=MOST_SHOWN + 1)["items"]
        ]
        if len(found) == 1:
            return str(found[0]["id"])
        if found:
            raise Invalid(_several(" or ".join(nouns), text, found))
    raise NotFound(
        f"none of the newest {' or '.join(nouns)} has an id that begins or ends with {text}; give the whole id"
    )


def _several(noun: str, text: str, found: list[dict[str, Any]]) -> str:
    shown = [f"  {item['id']}  {item['status']}  {item['name']}" for item in found[:MOST_SHOWN]]
    more = ["  …"] if len(found) > MOST_SHOWN else []
    return "\n".join([f"several {noun} have an id with {text}:", *shown, *more])
