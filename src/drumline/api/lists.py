"""Lists in requests: one of millions of items is refused at its first item too many.

The decoder of a list makes every item before its length can be looked at. An object of a fixed number of fields,
written as a list, ends at the first item that it has no field for.
"""

import asyncio
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw

from drumline.api.reading import decode_body
from drumline.core.codec import explain
from drumline.core.errors import Invalid

T = TypeVar("T")

SMALL: Final = 1024 * 1024
"""Bytes of a list that is read as a whole."""
SLICE: Final = 1024 * 1024
"""Bytes of items that are read between two turns of the event loop."""
ITEM_BYTES: Final = 2048
"""What reading an item costs besides its length, as bytes."""
_NOTHING: Final = Raw(b"")
_RAW_ITEMS: Final = msgspec.json.Decoder(list[Raw])


def split(raw: Raw, *, most: int, field: str) -> list[Raw]:
    """Return the items of a list as they are, or raise `Invalid` if there are more than `most`."""
    try:
        found = msgspec.structs.astuple(_splitter(most).decode(raw))
    except msgspec.ValidationError as error:
        if "at most length" in str(error):
            raise Invalid(f"has more than {most:,}, as many as are accepted at once", field=field) from error
        raise explain(error, field=field, type=list[Any]) from error
    end = found.index(_NOTHING) if found[-1] is _NOTHING else len(found)
    return list(found[:end])


def raw_items(raw: Raw, *, most: int, field: str) -> list[Raw]:
    """Return the items of a list as they are, or raise `Invalid`; of a short list faster than `split` does."""
    if len(raw) > SMALL:
        return split(raw, most=most, field=field)
    try:
        items = _RAW_ITEMS.decode(raw)
    except msgspec.ValidationError as error:
        raise explain(error, field=field, type=list[Any]) from error
    if len(items) > most:
        raise Invalid(f"has {len(items):,}; at most {most:,} are accepted at once", field=field)
    return items


class ListReader(Generic[T]):
    """Reads the lists of one field."""

    def __init__(self, item: Any, *, field: str) -> None:
        self._whole: msgspec.json.Decoder[list[T]] = msgspec.json.Decoder(list[item])
        self._item: msgspec.json.Decoder[T] = msgspec.json.Decoder(item)
        self._field = field

    async def read(self, raw: Raw, *, most: int) -> list[T]:
        """Return a list, or raise `Invalid` naming the item and field at fault; a long one is read in slices."""
        if len(raw) > SMALL:
            return await self._sliced(split(raw, most=most, field=self._field))
        try:
            items = self._whole.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise explain(error, field=self._field, type=self._whole.type) from error
        if len(items) > most:
            raise Invalid(f"has {len(items):,}; at most {most:,} are accepted at once", field=self._field)
        return items

    async def _sliced(self, raws: list[Raw]) -> list[T]:
        items: list[T] = []
        size = 0
        for number, raw in enumerate(raws):
            try:
                items.append(decode_body(self._item, bytes(raw)))
            except Invalid as error:
                inner = "" if error.field in {None, "body"} else f".{error.field}"
                raise Invalid(error.message, field=f"{self._field}[{number}]{inner}", code=error.code) from error
            size += len(raw) + ITEM_BYTES
            if size > SLICE:
                size = 0
                await asyncio.sleep(0)
        return items


@lru_cache(maxsize=8)
def _splitter(most: int) -> msgspec.json.Decoder[Any]:
    fields = [(f"item{number}", Raw, _NOTHING) for number in range(most)]
    return msgspec.json.Decoder(
        msgspec.defstruct("Items", fields, array_like=True, forbid_unknown_fields=True, gc=False)
    )
