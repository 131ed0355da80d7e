"""Assembles the relay: the duty that copies the event log to the bus of the settings."""

import asyncio

from drumline.core.metrics import Metrics
from drumline.core.redaction import Redaction
from drumline.lifecycle.stages import Service
from drumline.ports.store import Store
from drumline.scheduler.duty import Rounds
from drumline.scheduler.relay import Relay, RelayOptions
from drumline.settings import Settings
from drumline.wiring import open_bus


def relay_services(store: Store, settings: Settings, metrics: Metrics) -> dict[str, Service]:
    """Return the relay as a service; none if there is no bus."""
    bus = open_bus(settings)
    if bus is None:
        return {}
    options = RelayOptions(
        source=settings.events.source,
        redaction=Redaction(settings.redact.fields),
        metrics=metrics,
        largest=settings.bus.largest,
    )
    relay = Relay(store, bus, options)

    async def service(stop: asyncio.Event) -> None:
        try:
            await Rounds(relay, metrics=metrics).run(stop)
        finally:
            await relay.close()

    return {relay.name: service}
