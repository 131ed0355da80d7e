"""An app whose tasks say what they should keep to themselves, in every way there is."""

import logging
import sys
from typing import Any

import structlog

from drumline import Context, Drumline, Permanent, inject

app = Drumline("leaky")


def tell(token: str, context: Context[Any]) -> None:
    """Say it wherever something can be said."""
    print("printed", token)  # noqa: T201 - what a task prints is its log
    sys.stderr.write(f"written {token}\n")
    logging.getLogger("leaky").warning("logged %s", token)
    structlog.get_logger().warning("event.logged", note=f"with {token}")
    context.progress(1, 2, f"at {token}")
    try:
        dict[str, str]()[token]
    except KeyError:
        logging.getLogger("leaky").exception("caught")


@app.task
async def leak(token: str, *, context: Context[Any] = inject()) -> dict[str, Any]:
    tell(token, context)
    return {"echo": token, token: [f"<{token}>"]}


@app.task
def leak_and_fail(token: str, *, context: Context[Any] = inject()) -> None:
    tell(token, context)
    raise Permanent(f"no entry with {token}")


@app.task(process=True)
def leak_apart(token: str) -> str:
    print("printed apart", token)  # noqa: T201
    return f"apart {token}"
