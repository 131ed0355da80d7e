"""Results as the type that a function is annotated to return, also where msgspec cannot read that type by itself."""

from collections.abc import Callable
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Raw

from drumline.sdk.hooks import decode_hook, encode_hook, readable_hint

Decode = Callable[[bytes | Raw], Any]


def result_decoder(hint: Any) -> Decode:
    """Return what reads results of an annotated type; raises `TypeError` for a type that cannot be read."""
    readable = readable_hint(hint)
    try:
        return msgspec.json.Decoder(readable, dec_hook=decode_hook).decode
    except TypeError:
        if get_origin(readable) not in {Union, UnionType}:
            raise
    return _UnionDecoder([msgspec.json.Decoder(member, dec_hook=decode_hook) for member in get_args(readable)]).decode


class _UnionDecoder:
    """Reads unions of classes that msgspec cannot tell apart, such as of two dataclasses: the one that fits best.

    That is the first whose value is written again as exactly what was read, or else the first that can be read.
    """

    def __init__(self, members: "list[msgspec.json.Decoder[Any]]") -> None:
        self._members = members

    def decode(self, result: bytes | Raw) -> Any:
        """Return a result as one of the members."""
        written = msgspec.json.decode(result)
        readable: list[Any] = []
        refused: list[msgspec.ValidationError] = []
        for member in self._members:
            try:
                value = member.decode(result)
            except msgspec.ValidationError as error:
                refused.append(error)
                continue
            if msgspec.to_builtins(value, enc_hook=encode_hook) == written:
                return value
            readable.append(value)
        if readable:
            return readable[0]
        raise msgspec.ValidationError("; ".join(str(error) for error in refused))
