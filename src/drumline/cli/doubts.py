"""What is doubtful about something that was submitted, told on standard error."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from drumline.cli.output import say
from drumline.cli.tables import tidy
from drumline.core.errors import DrumlineError

if TYPE_CHECKING:
    from drumline.cli.client import Client

UNKNOWN = "unknown_type"
MOST_TOLD = 20


def tell_warnings(
    client: "Client", warnings: Iterable[dict[str, Any]], *, names: Iterable[str], where: str = ""
) -> None:
    """Tell the server's warnings; a task's name that nobody knows with the nearest one that somebody does."""
    warnings = list(warnings)
    for warning in warnings[:MOST_TOLD]:
        say(f"Warning: {where}{tidy(_words(warning))}")
    if len(warnings) > MOST_TOLD:
        say(f"Warning: {len(warnings) - MOST_TOLD:,} more like these")
    if any(warning["code"] == UNKNOWN for warning in warnings):
        _suggest(client, names)


def warn_of_unknown(client: "Client", name: str) -> None:
    """Warn of a task's name that no live worker has."""
    known = _known(client)
    if known and name not in known:
        say(f"Warning: no live worker has a task named {tidy(name)}: it waits for one")
        _suggest(client, [name], known)


def _words(warning: dict[str, Any]) -> str:
    field, message = warning.get("field") or "", warning["message"]
    return message if warning["code"] == UNKNOWN and field == "name" else f"{field}: {message}" if field else message


def _suggest(client: "Client", names: Iterable[str], known: list[str] | None = None) -> None:
    from drumline.core.wording import suggestion

    known = _known(client) if known is None else known
    for name in dict.fromkeys(names):
        if name not in known and (near := suggestion(name, known)):
            say(f"         {tidy(name)}{near}")


def _known(client: "Client") -> list[str]:
    """Return the names that live workers have; none if the key may not look."""
    try:
        return [type_["name"] for type_ in client.get("/types")["items"]]
    except DrumlineError:
        return []
