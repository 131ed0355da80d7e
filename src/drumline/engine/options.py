"""What an engine is made with, besides its store and its queue."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from drumline.core.access import DEFAULT_POLICY, KeyPolicy
from drumline.core.clock import Clock, SystemClock
from drumline.core.errors import Invalid
from drumline.core.event import DEFAULT_SOURCE
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.metrics import Metrics
from drumline.core.redaction import DEFAULT_REDACTION, Redaction
from drumline.core.sign_in import SignInPolicy
from drumline.engine.blobs import Blobs
from drumline.engine.endings import Endings
from drumline.engine.quota_counts import QuotaCounts
from drumline.ports.limiter import Limiter
from drumline.ports.read_model import ReadModel
from drumline.ports.sealing import Box, NoBox
from drumline.ports.tracing import NO_TRACER, Tracer


class SignInOptions(Struct, frozen=True):
    """How people sign in. Servers that have the same secret accept each other's sign-ins."""

    policy: SignInPolicy = SignInPolicy()
    secret: bytes | None = None
    """None means a random one: sign-ins hold at this server, until it ends."""


def _no_setting(key: str, _value: Any) -> object:
    raise Invalid(f"this process does not know the setting {key}", field="key")


class EngineOptions(Struct, frozen=True, kw_only=True):
    """The parts of an engine that have a default."""

    clock: Clock = field(default_factory=SystemClock)
    limits: Limits = DEFAULT_LIMITS
    metrics: Metrics = field(default_factory=Metrics)
    tracer: Tracer = NO_TRACER
    blobs: Blobs = field(default_factory=Blobs)
    """Keeps large payloads and results; the engines of one process share it."""
    box: Box = field(default_factory=NoBox)
    """Seals secrets."""
    redaction: Redaction = DEFAULT_REDACTION
    """What is left out of payloads that people are shown."""
    read_model: ReadModel | None = None
    limiter: Limiter | None = None
    """Limits requests per key together with other servers; None means by this process alone."""
    policy: KeyPolicy = DEFAULT_POLICY
    """The policy for API keys to begin with; `Access.use_policy` changes it."""
    sign_in: SignInOptions = SignInOptions()
    check_setting: Callable[[str, Any], object] = _no_setting
    """Returns a value of the runtime configuration as it is stored, or raises `Invalid`."""
    source: str = DEFAULT_SOURCE
    """The `source` of events that the API streams."""
    endings: Endings = field(default_factory=Endings)
    """Callers that wait for ends; the engines of one process share them."""
    quota_counts: QuotaCounts = field(default_factory=QuotaCounts)
    """What waits of tenants; the engines of one process share it."""
    poll: float = 1.0
    """Seconds after which an idle claimer looks for tasks without having been woken."""
    parallel: int = 1
    """Batches of one kind that may be under way in the store at once."""
