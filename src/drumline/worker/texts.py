"""Text from user code and programs, made safe to store."""


def storable(text: str) -> str:
    """Return `text` without what no store keeps: lone surrogates and NUL."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def size_of(text: str) -> int:
    """Return the bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
