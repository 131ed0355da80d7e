"""Types that msgspec does not know by itself: paths, models that validate themselves, `object`, and some unions."""

from pathlib import PurePath
from types import GenericAlias, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from drumline.sdk.codecs import Codec, codec_of, is_numpy_scalar
from drumline.sdk.unions import describe_choice, is_choice, read_choice, readable_union


def encode_hook(value: Any) -> Any:
    """Write a path as its text, JSON as what it says, and models that can dump themselves, as pydantic's do."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, msgspec.Raw):  # JSON already, such as the result of a function in a child process
        return msgspec.json.decode(value)
    dump = getattr(value, "model_dump", None)
    if dump is None:
        if is_numpy_scalar(type(value)):
            return value.item()
        codec = codec_of(type(value))
        if codec is not None:
            return codec.encode(value)
        raise TypeError(
            f"a value of type {type(value).__qualname__} cannot be written as JSON: give its id or its fields, or "
            "register a codec with app.codec(…)"
        )
    return dump(mode="json")


def decode_hook(type_: Any, value: Any) -> Any:
    """Read a path from its text, and models that can validate themselves, as pydantic's do."""
    if type_ is object:
        return value
    if is_path(type_):
        if not isinstance(value, str):
            raise TypeError("must be a text, the path")
        return type_(value)
    if is_choice(type_):
        return read_choice(type_, value, dec_hook=decode_hook, enc_hook=encode_hook)
    validate = getattr(type_, "model_validate", None)
    if validate is None:
        if is_numpy_scalar(type_):
            return _read_scalar(type_, value)
        codec = codec_of(type_)
        if codec is not None:
            return _read_by(codec, type_, value)
        raise TypeError(f"{getattr(type_, '__qualname__', type_)} cannot be read from JSON")
    return validate(value)


def _read_scalar(type_: Any, value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise TypeError("must be a number, a text, true or false")
    try:
        return type_(value)
    except (ValueError, OverflowError) as error:
        raise TypeError(f"is no {type_.__name__}: {error}") from error


def _read_by(codec: Codec[Any], type_: type, value: Any) -> Any:
    try:
        return codec.decode(value)
    except Exception as error:  # whatever a codec raises, the value cannot be read
        raise TypeError(f"cannot be read as {type_.__qualname__}: {error}") from error


def schema_hook(type_: Any) -> dict[str, Any]:
    """Describe paths, and models that can describe themselves."""
    if type_ is object:
        return {"description": "Anything."}
    if is_path(type_):
        return {"type": "string", "format": "path"}
    if is_choice(type_):
        return describe_choice(type_, schema_hook)
    describe = getattr(type_, "model_json_schema", None)
    if describe is None:
        if is_numpy_scalar(type_):
            return {"type": ["number", "string", "boolean"]}
        codec = codec_of(type_)
        if codec is not None:
            return dict(codec.schema) or {"description": f"A {type_.__qualname__}, as its codec writes it."}
        raise NotImplementedError
    return dict(describe())


def is_path(type_: Any) -> bool:
    """Tell whether a type is one of the paths of `pathlib`."""
    return isinstance(type_, type) and issubclass(type_, PurePath)


def readable_hint(hint: Any) -> Any:
    """Return an annotation as msgspec can read it: in `str | Path` a text stays a text.

    Unions of which msgspec cannot tell the members apart are read by trying them.
    """
    args = get_args(hint)
    if get_origin(hint) in {Union, UnionType}:
        kept = [readable_hint(each) for each in args]
        if str in kept:
            kept = [each for each in kept if not is_path(each)]
        return readable_union(tuple(kept), decode_hook)
    if isinstance(hint, GenericAlias):
        return GenericAlias(get_origin(hint), tuple(readable_hint(each) for each in args))
    return hint
