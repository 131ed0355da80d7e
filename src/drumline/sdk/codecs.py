"""Values that are neither JSON nor known to msgspec: how they are written in arguments and results, and read again.

Codecs are known to the whole process: a result is written by a worker and read by a client, and neither asks whose
app it was. NumPy's scalars need none. Types that packages bring are looked for in the entry points `drumline.codecs`.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")

ENTRY_POINTS: Final = "drumline.codecs"


class Codec(Struct, Generic[T], frozen=True, kw_only=True):
    """How values of a type are written and read."""

    encode: Callable[[T], Any]
    """Returns a value as what can be written as JSON."""
    decode: Callable[[Any], T]
    """Returns what was written as a value again."""
    schema: Mapping[str, Any] = {}
    """The JSON Schema of what is written, if it is worth telling."""


_CODECS: Final[dict[type, Codec[Any]]] = {}


def register(type_: type[T], codec: Codec[T] | None = None) -> None:
    """Write and read values of a type by a codec; without one, by that which is known for the type."""
    if not isinstance(type_, type):
        raise TypeError(f"app.codec: the type must be a class, not {type_!r}")
    if _is_native(type_):
        raise TypeError(f"app.codec: a {type_.__qualname__} is written as JSON already")
    _CODECS[type_] = _known(type_) if codec is None else codec


def codec_of(type_: Any) -> Codec[Any] | None:
    """Return the codec of a type or of the nearest type that it inherits from."""
    if not isinstance(type_, type):
        return None
    _load_entry_points()
    for base in type_.__mro__:
        found = _CODECS.get(base)
        if found is not None:
            return found
    return None


@cache
def _load_entry_points() -> None:
    """Let installed packages register their types, once, when the first unknown type is met."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - few programs need it

    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()()


def _is_native(type_: type) -> bool:
    try:
        msgspec.json.schema(type_)
    except TypeError:
        return False
    return True


# -- NumPy's scalars


def is_numpy_scalar(type_: Any) -> bool:
    """Tell whether a type is one of NumPy's scalars, without loading NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(type_, type) and issubclass(type_, numpy.generic)


# -- types of well-known packages


def _known(type_: type) -> Codec[Any]:
    name = f"{type_.__module__.partition('.')[0]}.{type_.__qualname__}"
    maker = _MAKERS.get(name)
    if maker is None:
        raise TypeError(f"app.codec: give encode and decode; there is no codec for {name}")
    return maker()


def _arrow() -> Codec[Any]:
    arrow, ipc = import_module("pyarrow"), import_module("pyarrow.ipc")

    def encode(table: Any) -> dict[str, str]:
        sink = arrow.BufferOutputStream()
        with ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return {"arrow": b64encode(sink.getvalue()).decode()}

    def decode(written: Any) -> Any:
        return ipc.open_stream(b64decode(written["arrow"], validate=True)).read_all()

    return Codec(encode=encode, decode=decode, schema=_ARROW)


def _pandas() -> Codec[Any]:
    arrow, table = import_module("pyarrow"), _arrow()
    return Codec(
        encode=lambda frame: table.encode(arrow.Table.from_pandas(frame)),
        decode=lambda written: table.decode(written).to_pandas(),
        schema=_ARROW,
    )


def _numpy() -> Codec[Any]:
    numpy = import_module("numpy")

    def encode(array: Any) -> dict[str, Any]:
        if array.dtype.hasobject:
            raise TypeError("an array of objects cannot be written; convert it first")
        ordered = numpy.ascontiguousarray(array)
        return {"dtype": ordered.dtype.str, "shape": list(array.shape), "data": b64encode(ordered.tobytes()).decode()}

    def decode(written: Any) -> Any:
        dtype = numpy.dtype(written["dtype"])
        if dtype.hasobject:
            raise TypeError("an array of objects cannot be read")
        return numpy.frombuffer(b64decode(written["data"], validate=True), dtype=dtype).reshape(written["shape"]).copy()

    return Codec(encode=encode, decode=decode, schema={"type": "object", "required": ["dtype", "shape", "data"]})


_ARROW: Final = {
    "type": "object",
    "required": ["arrow"],
    "properties": {"arrow": {"type": "string", "contentEncoding": "base64", "description": "An Arrow IPC stream."}},
}
_MAKERS: Final[Mapping[str, Callable[[], Codec[Any]]]] = {
    "pandas.DataFrame": _pandas,
    "pyarrow.Table": _arrow,
    "numpy.ndarray": _numpy,
}
