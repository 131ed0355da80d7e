"""A function's parameters as a JSON object: written when a task is submitted, read and checked when it runs.

Reading is one pass through a struct that is made once from the annotations, so it costs about a microsecond. The
struct is made when it is first needed: programs that only submit never pay for it, and annotations may name classes
that are defined further down.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter
from types import SimpleNamespace
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw

from drumline.core.codec import explain
from drumline.core.errors import Invalid
from drumline.sdk.finite import refuse_not_finite
from drumline.sdk.hooks import decode_hook, encode_hook, readable_hint, schema_hook
from drumline.sdk.injection import Injected
from drumline.sdk.secret import WORD, SecretName, settled

_PLAIN: Final = (type(None), bool, int, float, str, bytes)
"""Defaults of these types can stand in the struct itself; others are made by a factory, as Python shares them."""
CONTEXT: Final = ("drumline.sdk.context", "Context")
"""Module and name of what the worker fills in; that module imports this one."""
_COMMON: Final = (Any, None, *_PLAIN, list, dict)
"""Annotations of which it is known that they can be read."""


def argument_hook(value: Any) -> Any:
    """Write what may stand among arguments and nowhere else: secrets."""
    return value.written() if isinstance(value, SecretName) else encode_hook(value)


MOST_REMEMBERED: Final = 200
"""Ways to call a function; a program has a few, but keywords can come in any order."""
ENCODER: Final = msgspec.json.Encoder(enc_hook=encode_hook)
_ARGUMENT_ENCODER: Final = msgspec.json.Encoder(enc_hook=argument_hook)
Encode = Callable[[Any], bytes]
"""Writes a value as JSON."""
_ANY_DECODER: Final = msgspec.json.Decoder()


def encode_arguments(value: Any) -> bytes:
    """Return arguments as JSON; raises `Invalid` for numbers that JSON has not."""
    written = _ARGUMENT_ENCODER.encode(value)
    refuse_not_finite(written, value, argument_hook, field="payload")
    return settled(written) if written.find(WORD) >= 0 else written


def encode_result(value: Any) -> bytes:
    """Return a result as JSON; raises `Invalid` for numbers that JSON has not."""
    written = ENCODER.encode(value)
    refuse_not_finite(written, value, encode_hook, field="result")
    return written


class Arguments:
    """The parameters of one function, but for those that the worker fills."""

    def __init__(self, function: Callable[..., Any], *, task: str) -> None:
        self._function = inspect.unwrap(function)
        self._task = task
        signature = inspect.signature(function)
        filled = {name for name, param in signature.parameters.items() if isinstance(param.default, Injected)}
        for name in filled:
            if signature.parameters[name].kind is not Parameter.KEYWORD_ONLY:
                raise TypeError(f"{task}: make {name} keyword-only (put it after a *), so that callers may omit it")
        self.injected: tuple[str, ...] = tuple(sorted(filled))
        self._signature = signature.replace(
            parameters=[param for name, param in signature.parameters.items() if name not in filled]
        )
        parameters = self._signature.parameters.values()
        self._positional = tuple(p.name for p in parameters if p.kind <= Parameter.POSITIONAL_OR_KEYWORD)
        self._rest = next((p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
        self._extra = next((p.name for p in parameters if p.kind is Parameter.VAR_KEYWORD), None)
        named = [
            p for p in parameters if p.kind is not Parameter.VAR_POSITIONAL and p.kind is not Parameter.VAR_KEYWORD
        ]
        self._keywords = frozenset(p.name for p in named if p.kind is not Parameter.POSITIONAL_ONLY)
        self._required = frozenset(p.name for p in named if p.default is Parameter.empty)
        positional_only = any(p.kind is Parameter.POSITIONAL_ONLY for p in named)
        self.is_plain = not (positional_only or self._rest or self._extra)
        """Whether every argument can be given by name."""
        self._shapes: dict[tuple[object, ...], type[msgspec.Struct]] = {}
        """Calls that were seen to fit, by the number of positional arguments and the names of the others."""

    # -- writing

    @property
    def first(self) -> str | None:
        """The name of the first parameter that can be given by position, if there is one."""
        return self._positional[0] if self._positional else None

    def has(self, name: str) -> bool:
        """Tell whether the function has a parameter of that name."""
        return name in self._signature.parameters

    def payload(self, args: tuple[Any, ...], kwargs: dict[str, Any], encode: Encode = encode_arguments) -> Raw:
        """Return a call as a JSON object; a call that the function would refuse raises the same `TypeError`."""
        kind = (len(args), *kwargs) if kwargs else (len(args),)  # unpacking no keywords takes as long as all the rest
        shape = self._shapes.get(kind) or self._shape_of(args, kwargs)
        # A struct is filled and written faster than a dictionary of the same.
        given = shape(*args, **kwargs) if shape else self._bound(args, kwargs)
        try:
            return Raw(encode(given))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            named = given if isinstance(given, dict) else msgspec.structs.asdict(given)
            raise _unwritable(named, error, encode) from error

    def _shape_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> type[msgspec.Struct] | None:
        """Return a struct of a call's arguments and remember it, if each is for its parameter and none is missing."""
        given = dict.fromkeys((*self._positional[: len(args)], *kwargs))
        is_fitting = (
            self.is_plain
            and len(args) <= len(self._positional)
            and kwargs.keys() <= self._keywords
            and len(given) == len(args) + len(kwargs)
            and self._required <= given.keys()
            and not any(name.startswith("__") for name in given)  # those no struct can have
        )
        if not is_fitting or len(self._shapes) >= MOST_REMEMBERED:
            return None
        shape = self._shapes[len(args), *kwargs] = msgspec.defstruct("call", list(given), gc=False)
        return shape

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{self._task}: {error}") from None
        if self._extra is not None:
            extra = bound.pop(self._extra, {})
            clash = extra.keys() & self._signature.parameters.keys()
            if clash:
                raise TypeError(f"{self._task}: {min(clash)!r} names a parameter and an extra keyword at once")
            bound.update(extra)
        return bound

    # -- reading

    def bind(self, payload: bytes | Raw) -> dict[str, Any]:
        """Return a payload's values by parameter, checked by their annotations, or raise `Invalid` naming the field.

        A JSON array binds by position. Parameters that are not given keep the function's own defaults.
        """
        try:
            if self._extra is None:
                try:
                    return msgspec.structs.asdict(self._decoder.decode(payload))
                except msgspec.ValidationError:
                    if _is_object(payload):
                        raise
            return self._bind_loosely(_ANY_DECODER.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise explain(error, field="payload", type=self._struct) from error

    def refuse_unfit(self, payload: Raw) -> None:
        """Raise `Invalid` naming the field for a payload that the function could not be called with.

        What only a worker can tell is left to it: secrets are read there, and annotations may name classes that are
        imported there alone.
        """
        if self._can_check and bytes(payload).find(WORD) < 0:
            self.bind(payload)

    def _bind_loosely(self, value: Any) -> dict[str, Any]:
        if isinstance(value, list):
            value = self._by_position(value)
        if not isinstance(value, dict):
            raise Invalid("must be an object with the arguments by name, or an array", field="payload")
        struct = self._struct
        if self._extra is None:
            return msgspec.structs.asdict(msgspec.convert(value, struct, dec_hook=decode_hook))
        own = {name: value.pop(name) for name in struct.__struct_fields__ if name in value}
        bound = msgspec.structs.asdict(msgspec.convert(own, struct, dec_hook=decode_hook))
        bound[self._extra] = msgspec.convert(value, dict[str, self._extra_type], dec_hook=decode_hook)  # type: ignore[name-defined]
        return bound

    def _by_position(self, values: list[Any]) -> dict[str, Any]:
        given = dict(zip(self._positional, values, strict=False))
        left = values[len(self._positional) :]
        if left and self._rest is None:
            raise Invalid(f"has {len(values)} items; at most {len(self._positional)} are accepted", field="payload")
        if left and self._rest is not None:
            given[self._rest] = left
        return given

    def spread(self, bound: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return bound values as the positional and keyword arguments to call the function with."""
        if self.is_plain:
            return [], dict(bound)
        values = dict(bound)
        extra = values.pop(self._extra, {}) if self._extra else {}
        rest = values.pop(self._rest, ()) if self._rest else ()
        args = [values.pop(name) for name in self._positional]
        return [*args, *rest], {**values, **extra}

    # -- describing

    def check(self) -> None:
        """Raise `TypeError` naming a parameter that cannot be read from JSON.

        An annotation that names a class that is not there yet is not looked at: it may be defined further down.
        """
        try:
            hints = self._hints
        except TypeError:
            return
        for name in self._signature.parameters:
            hint = hints.get(name, Any)
            if hint not in _COMMON:
                self._check_hint(name, hint)

    def _check_hint(self, name: str, hint: Any) -> None:
        try:
            msgspec.json.schema(hint, schema_hook=schema_hook)
            msgspec.json.Decoder(hint, dec_hook=decode_hook)
        except NameError:
            return
        except TypeError as error:
            raise TypeError(f"{self._task}: {_unreadable(name, hint, error)}") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the payload; raises `TypeError` naming the task for what cannot be described."""
        struct = self._struct
        try:
            described = msgspec.json.schema(struct, schema_hook=schema_hook)
        except (TypeError, NameError) as error:
            self.check()
            raise TypeError(f"{self._task}: its parameters cannot be described: {error}") from error
        definitions = described.pop("$defs", {})
        schema = dict(definitions.pop(self._struct.__name__))
        schema["title"] = self._task
        schema["additionalProperties"] = self._extra is not None
        return {**schema, "$defs": definitions} if definitions else schema

    @cached_property
    def _hints(self) -> dict[str, Any]:
        hints = resolve_hints(self._function, self._task, leave_out=(*self.injected, "return"))
        return {name: readable_hint(hint) for name, hint in hints.items()}

    @cached_property
    def _can_check(self) -> bool:
        """Whether there are annotations, and all of them can be read here."""
        try:
            return bool(self._hints)
        except TypeError:
            return False

    @property
    def _extra_type(self) -> Any:
        return self._hints.get(self._extra or "", Any)

    @cached_property
    def _struct(self) -> type[msgspec.Struct]:
        fields = [self._field(param) for param in self._signature.parameters.values() if param.name != self._extra]
        name = "".join(char if char.isalnum() else "_" for char in self._task)
        try:
            struct = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
            msgspec.json.Decoder(struct, dec_hook=decode_hook)
        except TypeError as error:
            raise TypeError(f"{self._task}: its parameters cannot be read from JSON: {error}") from error
        return struct

    @cached_property
    def _decoder(self) -> "msgspec.json.Decoder[Any]":
        return msgspec.json.Decoder(self._struct, dec_hook=decode_hook)

    def _field(self, param: Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
        hint = self._hints.get(param.name, Any)
        if param.kind is Parameter.VAR_POSITIONAL:
            return param.name, list[hint], msgspec.field(default_factory=list)  # type: ignore[valid-type]
        if param.default is Parameter.empty:
            return param.name, hint
        if isinstance(param.default, _PLAIN):
            return param.name, hint, param.default
        return param.name, hint, msgspec.field(default_factory=lambda: param.default)


def resolve_hints(function: Callable[..., Any], task: str, *, leave_out: tuple[str, ...]) -> dict[str, Any]:
    """Return a function's annotations as types; those left out need not make sense at run time."""
    annotations = {name: hint for name, hint in inspect.get_annotations(function).items() if name not in leave_out}
    holder = SimpleNamespace(__annotations__=annotations)
    try:
        return get_type_hints(holder, getattr(function, "__globals__", {}), include_extras=True)
    except NameError as error:
        raise TypeError(f"{task}: an annotation cannot be read at run time: {error}; import it for real") from error


def _unreadable(name: str, hint: Any, error: Exception) -> str:
    """Return why a parameter cannot be read from JSON; of what msgspec says, the reason and not its own remedies."""
    whole = get_origin(hint) or hint
    if (getattr(whole, "__module__", ""), getattr(whole, "__qualname__", "")) == CONTEXT:
        return f"the parameter {name!r} is filled by the worker: write it as *, {name}: Context[…] = inject()"
    shown = hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)
    reason = str(error).strip().splitlines()[-1]
    return f"the parameter {name!r} is annotated {shown}, which cannot be read from JSON: {reason}"


def _is_object(payload: bytes | Raw) -> bool:
    return bytes(payload).lstrip().startswith(b"{")


def _unwritable(given: dict[str, Any], error: Exception, encode: Encode) -> Invalid:
    for name, value in given.items():
        try:
            encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return Invalid(unwritable(error), field=f"payload.{name}")
    return Invalid(unwritable(error), field="payload")


def unwritable(error: Exception) -> str:
    """Return why a value cannot be written as JSON."""
    text = str(error)
    return text if "cannot be written as JSON" in text else f"cannot be written as JSON: {text}"
