"""What a worker declares about a type of task, and what a submission of that type goes by.

A worker publishes its types when it starts: name, JSON Schema of the payload, and the defaults that its code declares
(`@app.task(queue=…, retries=…)`). They are stored by tenant and name, so that they hold for every submission that does
not say otherwise, also while no worker runs.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from drumline.core.codec import decode, encode
from drumline.core.duration import MOST_EXPIRES, millis, parse_duration, parse_expires
from drumline.core.errors import Invalid
from drumline.core.field_schema import LONGEST_SECONDS, QUEUE, about, line_schema
from drumline.core.names import LONGEST_TAG, MOST_TAGS, check_queue, check_tags
from drumline.core.payload_check import Detail, PayloadCheck
from drumline.core.priority import parse_priority
from drumline.core.retry import MOST_RETRIES, RETRIES_SCHEMA, Backoff

LARGEST_SCHEMA: Final = 16 * 1024
"""Bytes of a payload's schema that is stored; payloads of a type with a larger one are not checked."""
MOST_STORED: Final = 4000
"""Types that are stored of one tenant; those that were published longest ago give way."""
EVERYBODY: Final = ""
"""The tenant under which types of workers that serve every tenant are stored."""


class PayloadMode(StrEnum):
    """What becomes of a submission whose payload does not fit the schema of its type."""

    REFUSE = "refuse"
    WARN = "warn"
    """It is accepted, and the answer says so."""
    OFF = "off"
    """Payloads are not checked: the attempt fails."""


class TypeDefaults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What submissions of a type get unless they say otherwise; None leaves it to the installation."""

    queue: Annotated[str | None, about(**QUEUE)] = None
    priority: Annotated[int | None, about(minimum=-100, maximum=100)] = None
    retries: Annotated[int | None, about(**RETRIES_SCHEMA)] = None
    backoff: Backoff | None = None
    timeout: Annotated[float | None, about(minimum=0.001, maximum=LONGEST_SECONDS)] = None
    """Seconds."""
    tags: Annotated[tuple[str, ...] | None, about(items=line_schema(LONGEST_TAG), maxItems=MOST_TAGS)] = None
    expires: Annotated[float | None, about(minimum=0.001, maximum=MOST_EXPIRES.total_seconds())] = None
    """Seconds."""

    def check(self, *, field: str) -> "TypeDefaults":
        """Return itself, or raise `Invalid` naming the default that no submission could have."""
        if self.queue is not None:
            check_queue(self.queue, field=f"{field}.queue")
        if self.priority is not None:
            parse_priority(self.priority, field=f"{field}.priority")
        if self.retries is not None and not 0 <= self.retries <= MOST_RETRIES:
            raise Invalid(f"must be from 0 to {MOST_RETRIES}", field=f"{field}.retries")
        if self.backoff is not None:
            self.backoff.check(field=f"{field}.backoff")
        if self.timeout is not None and millis(parse_duration(self.timeout, field=f"{field}.timeout")) == 0:
            raise Invalid("must be more than zero", field=f"{field}.timeout")
        if self.expires is not None:
            parse_expires(self.expires, field=f"{field}.expires")
        check_tags(self.tags or (), field=f"{field}.tags")
        return self


NO_DEFAULTS: Final = TypeDefaults()


class StoredType(Struct, frozen=True, kw_only=True):
    """A type as it is stored."""

    defaults: TypeDefaults = NO_DEFAULTS
    schema: bytes | None = None
    """JSON Schema of the payload; None if the worker that published last has none, or one that is too large."""
    former_schema: bytes | None = None
    """The schema before the last change, while workers of both versions may run."""


class TypeRules(Struct, frozen=True, kw_only=True):
    """What submissions of a type go by."""

    defaults: TypeDefaults = NO_DEFAULTS
    check: PayloadCheck | None = None
    """Refuses payloads that do not fit; None where they are not refused."""
    warn: PayloadCheck | None = None
    """Tells of payloads that do not fit, where that is only a warning."""
    is_known: bool = True
    """Whether a worker has ever published the type."""

    @property
    def weight(self) -> int:
        """What has to be compiled before payloads can be checked, as bytes of JSON."""
        check = self.warn if self.check is None else self.check
        return 0 if check is None else check.weight

    def telling(self, detail: Detail) -> "TypeRules":
        """Return the same rules with more or less detail in what they say of payloads that do not fit."""
        check = None if self.check is None else replace(self.check, detail=detail)
        return replace(self, check=check, warn=None if self.warn is None else replace(self.warn, detail=detail))


UNKNOWN_TYPE: Final = TypeRules(is_known=False)


def weight_of_rules(rules: Iterable[TypeRules]) -> int:
    """Return what has to be compiled before payloads of some types can be checked, as bytes of JSON."""
    return sum([each.weight for each in rules if each is not UNKNOWN_TYPE])


def stored_schema(schema: object) -> bytes | None:
    """Return a schema as it is stored; None if there is none, or it is too large to be kept."""
    if schema is None:
        return None
    text = encode(schema)
    return text if len(text) <= LARGEST_SCHEMA else None


def stored_defaults(defaults: TypeDefaults | None) -> bytes | None:
    """Return defaults as they are stored; None if the worker said nothing about them, as those of 0.1 do."""
    return None if defaults is None else encode(defaults)


def read_type(defaults: str | None, schema: str | None, former_schema: str | None) -> StoredType:
    """Return a stored row as a type."""
    declared = NO_DEFAULTS if defaults is None else decode(defaults, TypeDefaults)
    return StoredType(
        # The very same object where nothing is declared, so that an identity check finds the common case.
        defaults=NO_DEFAULTS if declared == NO_DEFAULTS else declared,
        schema=None if schema is None else schema.encode(),
        former_schema=None if former_schema is None else former_schema.encode(),
    )


def rules_of(stored: StoredType | None, *, mode: PayloadMode = PayloadMode.OFF) -> TypeRules:
    """Return what submissions of a stored type go by."""
    if stored is None:
        return UNKNOWN_TYPE
    check = None if stored.schema is None else PayloadCheck(stored.schema, stored.former_schema)
    return TypeRules(
        defaults=stored.defaults,
        check=check if mode is PayloadMode.REFUSE else None,
        warn=check if mode is PayloadMode.WARN else None,
    )


class SubmissionWarning(Struct, frozen=True):
    """A doubt about a submission: `code` is stable, `field` names the input that it is about."""

    code: str
    message: str
    field: str


def unknown_type(name: str, *, field: str = "name") -> SubmissionWarning:
    """Return the warning about a name that no worker has ever published: it may be misspelt, and wait for ever."""
    return SubmissionWarning("unknown_type", f"no worker has published a task named {name}: it waits for one", field)


def unfit_payload(error: Invalid) -> SubmissionWarning:
    """Return the warning about a payload that does not fit the schema of its type."""
    return SubmissionWarning("unfit_payload", f"does not fit the task's parameters: {error.message}", error.field or "")
