"""Tasks that submit tasks: their app submits to where they came from.

Inside the worker's process the app uses the worker's own engine, or its server. Child processes of CPU-bound tasks
import the app anew; they find the place by their environment.
"""

import os
from collections.abc import Sequence

from drumline.lifecycle.apps import App
from drumline.sdk.transport import Transport
from drumline.settings import Settings


def lend(apps: Sequence[App], transport: Transport, settings: Settings) -> None:
    """Let apps submit through `transport`, except those that name a place of their own."""
    for app in apps:
        app.use(transport, unless_named=True)
    os.environ.update(_place_of(settings))


def _place_of(settings: Settings) -> dict[str, str]:
    place = {
        "DRUMLINE_DATA": str(settings.data.absolute()),
        "DRUMLINE_URL": settings.url,
        "DRUMLINE_API_KEY": settings.api_key,
        "DRUMLINE_STORE_URL": settings.store_url,
        "DRUMLINE_QUEUE_URL": settings.queue_url,
    }
    return {name: str(value) for name, value in place.items() if value is not None}
