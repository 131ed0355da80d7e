"""What requests with payloads are checked against."""

from typing import NamedTuple

from drumline.core.limits import Limits
from drumline.core.redaction import Redaction
from drumline.engine.lane_limit import LaneLimit
from drumline.engine.quotas import QuotaService
from drumline.engine.secrets import SecretService
from drumline.engine.task_types import TypeRegistry


class RequestChecks(NamedTuple):
    """Limits of the installation, quotas of the tenant, secrets that payloads refer to, declared types of tasks."""

    limits: Limits
    quotas: QuotaService
    secrets: SecretService
    types: TypeRegistry
    redaction: Redaction
    """What callers are not shown of payloads, and what is put back when they send them edited."""
    lanes: LaneLimit
    """How many combinations of queues and task names there may be."""
