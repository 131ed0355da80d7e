"""Ids that were shortened: their beginning or their end, if only one task, job, key … has it."""

from typing import TYPE_CHECKING, Any, Final

from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

SHORTEST: Final = 4
WHOLE: Final = 36
MOST_SHOWN: Final = 5
MOST_LISTED: Final = 1000
"""Items that are looked at, the newest first, where the server cannot search for a part of an id."""
_SEARCHED: Final = frozenset({"tasks", "jobs", "failures"})
"""Lists that the server filters by a part of an id."""
_DIGITS: Final = frozenset("0123456789abcdefABCDEF-")


def resolved(client: "ApiClient", noun: str, given: Any) -> Any:
    """Return whole ids for what was given: an id, several, or None. What does not look like one is left as it is.

    `noun` says what they are the ids of, such as `tasks` or `keys`, or `tasks jobs` if they may be of either.
    """
    if isinstance(given, list):
        return [_resolved(client, noun, one) for one in given]
    return _resolved(client, noun, given) if isinstance(given, str) else given


def is_short(text: str) -> bool:
    """Tell whether a text can be a part of an id."""
    return SHORTEST <= len(text) < WHOLE and _DIGITS.issuperset(text)


def _resolved(client: "ApiClient", noun: str, text: str) -> str:
    if not is_short(text):
        return text
    nouns = noun.split()
    for is_end in (False, True):
        # The beginning is a stretch of time, which an index finds; for the end the newest are looked at.
        found = [item for each in nouns for item in _found(client, each, text.lower(), is_end=is_end)]
        if len(found) == 1:
            return str(found[0]["id"])
        if found:
            raise Invalid(_several(" or ".join(nouns), text, found))
    raise NotFound(
        f"none of the newest {' or '.join(nouns)} has an id that begins or ends with {text}; give the whole id"
    )


def _found(client: "ApiClient", noun: str, text: str, *, is_end: bool) -> list[dict[str, Any]]:
    """Return some items of a list whose ids begin or end with a text."""
    if noun in _SEARCHED:
        pattern = f"*{text}" if is_end else text
        searched: list[dict[str, Any]] = client.get(f"/{noun}", filter=f"id:{pattern}", limit=MOST_SHOWN + 1)["items"]
        return searched
    listed = client.get("/subscriptions")["items"] if noun == "subscriptions" else _newest(client, noun)
    return [item for item in listed if (item["id"].endswith(text) if is_end else item["id"].startswith(text))]


def _newest(client: "ApiClient", noun: str) -> list[dict[str, Any]]:
    return list(client.pages(f"/{noun}", limit=MOST_LISTED))


def _several(noun: str, text: str, found: list[dict[str, Any]]) -> str:
    shown = [f"  {item['id']}{_facts(item)}" for item in found[:MOST_SHOWN]]
    more = ["  …"] if len(found) > MOST_SHOWN else []
    return "\n".join([f"several {noun} have an id with {text}:", *shown, *more])


def _facts(item: dict[str, Any]) -> str:
    """Return what tells an item from others: its status if it has one, and its name."""
    status = item["state"] if "state" in item else item.get("status")
    name = item.get("name") or item.get("event_type") or item.get("act")
    return "".join(f"  {each}" for each in (status, name) if isinstance(each, str))
