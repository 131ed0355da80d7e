"""What a Kafka client has to be told."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.ports.bus import Channel

SCHEME: Final = "kafka://"
DEFAULT_PORT: Final = 9092

_BROKER: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?", re.IGNORECASE)


class Topic(Struct, frozen=True, kw_only=True):
    """Where one channel goes, and how its topic is made if it is missing."""

    name: str
    partitions: int
    retention_ms: int
    replication: int | None = None


class Tls(Struct, frozen=True, kw_only=True):
    """Whom to trust, and who we are."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Login(Struct, frozen=True, kw_only=True):
    """How to log in: `mechanism` as Kafka calls it."""

    mechanism: str
    username: str
    password: str


class KafkaOptions(Struct, frozen=True, kw_only=True):
    """Which Kafka, and how to speak with it."""

    brokers: tuple[str, ...]
    topics: Mapping[Channel, Topic]
    largest: int = 1_048_576
    """The largest message, in bytes, with all that goes with it."""
    tls: Tls | None = None
    login: Login | None = None

    def connection(self) -> dict[str, Any]:
        """Return what every client needs, in librdkafka's words."""
        words: dict[str, Any] = {
            "bootstrap.servers": ",".join(self.brokers),
            "client.id": "drumline",
            "security.protocol": _PROTOCOLS[self.tls is not None, self.login is not None],
            # A broker that was away is found again within seconds, not after the ten that are usual.
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 2000,
        }
        if self.tls is not None:
            files = {"ca": self.tls.ca, "certificate": self.tls.certificate, "key": self.tls.key}
            words |= {f"ssl.{name}.location": str(path) for name, path in files.items() if path is not None}
        if self.login is not None:
            words |= {
                "sasl.mechanism": self.login.mechanism,
                "sasl.username": self.login.username,
                "sasl.password": self.login.password,
            }
        return words


_PROTOCOLS: Final = {
    (False, False): "PLAINTEXT",
    (True, False): "SSL",
    (False, True): "SASL_PLAINTEXT",
    (True, True): "SASL_SSL",
}
"""By whether there is TLS and a login."""


def brokers_of(url: str) -> tuple[str, ...]:
    """Return the brokers that an address names, or raise `Invalid`."""
    rest = url.removeprefix(SCHEME).rstrip("/")
    if "@" in rest:
        raise Invalid("must not hold a password: set bus.sasl, bus.username and bus.password", field="bus_url")
    brokers = tuple(broker.strip() for broker in rest.split(","))
    if not all(_BROKER.fullmatch(broker) for broker in brokers):
        raise Invalid("must name brokers, such as kafka://one.example:9092,two.example:9092", field="bus_url")
    return tuple(broker if _has_port(broker) else f"{broker}:{DEFAULT_PORT}" for broker in brokers)


def _has_port(broker: str) -> bool:
    return ":" in broker.rpartition("]")[2]
