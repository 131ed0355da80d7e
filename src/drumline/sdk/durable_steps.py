"""What durable calls do, as generators of operations: whoever drives them carries the operations out, and may wait."""

import inspect
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from functools import lru_cache, partial
from random import random
from typing import Any, Final, NamedTuple, NoReturn, Self

import msgspec
from msgspec import Raw, Struct

from drumline.core.clock import to_instant
from drumline.core.codec import decode, encode, explain
from drumline.core.durable import (
    LARGEST_WAIT_SCHEMA,
    LONGEST_RECORD_NAME,
    LONGEST_WAIT_MS,
    Record,
    RecordStatus,
    Wait,
    WaitKind,
    check_record_name,
)
from drumline.core.duration import Duration, millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.names import check_text
from drumline.core.outcome import ErrorInfo
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, MOST_RETRIES, Backoff
from drumline.sdk.arguments import encode_result, resolve_hints
from drumline.sdk.errors import SignalTimeout, StepFailed
from drumline.sdk.hooks import decode_hook, readable_hint, schema_hook
from drumline.sdk.signals import Permanent, Signal

_UNITS: Final = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}
LONGEST_REASON: Final = 1000


class Find(Struct, frozen=True):
    """Look up what is recorded under a name."""

    name: str
    key: str


class Run(Struct, frozen=True):
    """Call the step's function."""


class Ran(NamedTuple):
    """How the step's function ended, and how long it took."""

    value: Any
    error: Exception | None
    seconds: float
    give_up: Callable[[], None]
    """To be called if nothing is recorded of it."""


class Save(Struct, frozen=True, kw_only=True):
    """Keep how a step ended."""

    name: str
    key: str
    status: RecordStatus = RecordStatus.DONE
    value: Raw
    tries: int
    took_ms: int
    delay_ms: int = 0


class WaitFor(Struct, frozen=True):
    """Wait for a time."""

    wait: Wait


Operation = Find | Run | Save | WaitFor


class StepPolicy(NamedTuple):
    """The retries of a step itself; without them an error is the task's."""

    retries: int
    backoff: Backoff

    @classmethod
    def of(cls, retries: int | None, backoff: Backoff | float | None) -> Self | None:
        """Return a step's own retries, if it has any, or raise `Invalid`."""
        if retries is None and backoff is None:
            return None
        if retries is not None and not 0 <= retries <= MOST_RETRIES:
            raise Invalid(f"must be from 0 to {MOST_RETRIES}", field="retries")
        if not isinstance(backoff, Backoff):
            backoff = DEFAULT_BACKOFF if backoff is None else Backoff(base=backoff)
        return cls(DEFAULT_RETRIES if retries is None else retries, backoff.check())


def step_in_steps(
    name: str, key: str, function: Callable[..., Any], policy: StepPolicy | None
) -> Generator[Operation, Any, Any]:
    """Return the record of a step; if there is none, call its function and record how it ended."""
    decoder = result_decoder(function)
    record: Record | None = yield find(name, key)
    cause: Exception | None = None
    while record is None or record.status is RecordStatus.TRIED:
        if record is not None and record.due_at is not None:
            yield WaitFor(Wait(kind=WaitKind.RETRY, name=name, key=key, until=record.due_at))
        ran: Ran = yield Run()
        tries = 1 if record is None else record.tries + 1
        if ran.error is None:
            record = yield _done(name, key, ran, tries, decoder)
        elif policy is None or isinstance(ran.error, Signal):
            ran.give_up()
            raise ran.error
        else:
            cause = ran.error
            record = yield _failure(name, key, ran, tries, policy)
    if record.status is RecordStatus.FAILED:
        raise StepFailed(name, key, decode(bytes(record.value), ErrorInfo)) from cause
    return (yield from read(record, decoder))


def sleep_in_steps(
    name: str,
    key: str,
    *,
    duration: Duration = 0,
    parts: Mapping[str, float] | None = None,
    moment: datetime | None = None,
) -> Generator[Operation, Any, None]:
    """Return when a time has come."""
    check_record_name(name, key)
    field = f"sleep {name!r}"
    if moment is not None:
        wait = Wait(kind=WaitKind.SLEEP, name=name, key=key, until=to_instant(moment, field=field))
    else:
        wait = Wait(kind=WaitKind.SLEEP, name=name, key=key, delay_ms=_delay_of(duration, parts or {}, field))
    record: Record | None = yield find(name, key)
    if record is None:
        yield WaitFor(wait)


def wait_in_steps(
    name: str, key: str, type_: Any, timeout: Duration | None, correlation: str | None
) -> Generator[Operation, Any, Any]:
    """Return the payload of a signal as a type, or raise `SignalTimeout`."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
        Any if type_ is object else readable_hint(type_), dec_hook=decode_hook
    )
    delay = None if timeout is None else _delay_of(timeout, {}, f"timeout of {name!r}")
    if correlation is not None:
        check_text(correlation, field=f"correlation of {name!r}", longest=LONGEST_RECORD_NAME)
    record: Record | None = yield find(name, key)
    if record is None:
        wait = Wait(
            kind=WaitKind.SIGNAL, name=name, key=key, delay_ms=delay, correlation=correlation, schema=schema_of(type_)
        )  # fmt: skip
        record = yield WaitFor(wait)
    if record is None or record.status is RecordStatus.TIMED_OUT:
        raise SignalTimeout(name, key)
    return (yield from read(record, decoder))


def payload_of_restart(name: str, task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Raw:
    """Return what the next round of the task of this name gets; one whose arguments do not fit fails for good."""
    from drumline.sdk.task import Submittable  # noqa: PLC0415 - it imports this module's context

    if not isinstance(task, Submittable):
        raise Permanent(
            f"ctx.restart takes this task itself and then its arguments, as ctx.restart({name or 'task'}, …), "
            f"not {type(task).__name__}"
        )
    if name and task.name != name:
        raise Permanent(f"ctx.restart begins a new round of {name!r}, and cannot begin one of {task.name!r}")
    try:
        return task.request_for(args, kwargs).payload
    except (Invalid, TypeError) as error:
        raise Permanent(f"the arguments of ctx.restart do not fit {task.name!r}: {error}") from error


def schema_of(type_: Any) -> str | None:
    """Return the JSON Schema of a type, for people who send a signal of it; None if it is too large."""
    if type_ is object or type_ is Any:
        return None
    try:
        text = encode(msgspec.json.schema(readable_hint(type_), schema_hook=schema_hook)).decode()
    except (TypeError, NameError):  # it can be read all the same
        return None
    return text if len(text.encode()) <= LARGEST_WAIT_SCHEMA else None


def find(name: str, key: str) -> Find:
    """Return the look-up of a name, or raise `Invalid` if no record can have it."""
    check_record_name(name, key)
    return Find(name, key)


def read(record: Record, decoder: "msgspec.json.Decoder[Any]") -> Generator[Operation, Any, Any]:
    """Return the value of a record; if it does not fit the code any more, let the task wait for a person."""
    try:
        return decoder.decode(record.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(explain(error, field=f"the record of {record.name!r}"))
    yield from person_needed(record.name, record.key, reason)
    raise AssertionError("a wait for a person is never answered")


def person_needed(name: str, key: str, reason: str) -> Generator[Operation, Any, None]:
    """Let the task wait for a person: what was recorded does not fit the code any more."""
    yield WaitFor(Wait(kind=WaitKind.PERSON, name=name, key=key, reason=reason[:LONGEST_REASON]))


def result_decoder(function: Callable[..., Any]) -> "msgspec.json.Decoder[Any]":
    """Return what reads the record of a function's result: as the type that it is annotated to return."""
    while isinstance(function, partial):
        function = function.func
    try:
        return _decoder_of(inspect.unwrap(function))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return msgspec.json.Decoder()


@lru_cache(maxsize=1024)
def _decoder_of(function: Callable[..., Any]) -> "msgspec.json.Decoder[Any]":
    if not hasattr(function, "__annotations__"):
        return msgspec.json.Decoder()
    others = tuple(name for name in inspect.get_annotations(function) if name != "return")
    hint = resolve_hints(function, getattr(function, "__qualname__", "step"), leave_out=others).get("return", Any)
    return msgspec.json.Decoder(readable_hint(hint), dec_hook=decode_hook)


def _done(name: str, key: str, ran: Ran, tries: int, decoder: "msgspec.json.Decoder[Any]") -> Save:
    """Return the record of a step that succeeded; one whose result cannot be kept fails the task for good."""
    try:
        raw = encode_result(ran.value)
        decoder.decode(raw)
    except Invalid as error:
        _refuse(ran, f"the result of step {name!r} cannot be recorded: {error.message}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse(
            ran, f"the result of step {name!r} is not of the type that its function is annotated to return: {error}"
        )
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(ran, f"the result of step {name!r} cannot be written as JSON: {error}")
    return Save(name=name, key=key, value=Raw(raw), tries=tries, took_ms=round(ran.seconds * 1000))


def _refuse(ran: Ran, message: str) -> NoReturn:
    ran.give_up()
    raise Permanent(message)


def _failure(name: str, key: str, ran: Ran, tries: int, policy: StepPolicy) -> Save:
    """Return what is kept of a step that failed: that it is tried again, or its error if it has no tries left."""
    error = ErrorInfo(type(ran.error).__qualname__, str(ran.error)[:8000])
    value = Raw(encode(error))
    took_ms = round(ran.seconds * 1000)
    if tries > policy.retries:
        return Save(name=name, key=key, status=RecordStatus.FAILED, value=value, tries=tries, took_ms=took_ms)
    delay = millis(policy.backoff.delay(tries, random))
    return Save(
        name=name, key=key, status=RecordStatus.TRIED, value=value, tries=tries, took_ms=took_ms, delay_ms=delay
    )


def _delay_of(duration: Duration, parts: Mapping[str, float], field: str) -> int:
    base = parse_duration(duration, field=field).total_seconds()
    seconds = base + sum(_UNITS[unit] * amount for unit, amount in parts.items())
    delay = millis(parse_duration(seconds, field=field))
    if delay > LONGEST_WAIT_MS:
        raise Invalid("must be at most 3,660 days", field=field)
    return delay
