"""Where in a JSON text something is wrong, as a field path: `payload.x[3]`. Only asked once decoding has failed."""

import re

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]')
_LONGEST = 256 * 1024
"""Bytes worth walking through for a better message."""
_MOST_STEPS = 5
_DEEP = 64

Step = str | int


def path_at(text: bytes, offset: int) -> str | None:
    """Return the path of the value that byte `offset` is part of, or None at the top or too far in."""
    if offset > _LONGEST:
        return None
    walk = _Walk()
    for token in _TOKEN.finditer(text[:_LONGEST]):
        if token.end() > offset:
            break
        walk.take(token[0])
    return render(walk.path[:_MOST_STEPS])


def path_of_deepest(text: bytes) -> str | None:
    """Return the path of the first field that nests very deeply, such as `payload` or `tasks[3].payload`."""
    walk = _Walk()
    for token in _TOKEN.finditer(text[:_LONGEST]):
        walk.take(token[0])
        if len(walk.path) > _DEEP:
            is_listed = isinstance(walk.path[1], int) and isinstance(walk.path[0], str)
            named = walk.path[:3] if is_listed and isinstance(walk.path[2], str) else walk.path[:1]
            return render(named) if isinstance(named[0], str) else None
    return None


def render(path: list[Step]) -> str | None:
    """Return steps as a path; None for the top."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path if step != "")
    return text.removeprefix(".") or None


class _Walk:
    """The path of the place reached so far in a stream of tokens."""

    def __init__(self) -> None:
        self.path: list[Step] = []
        self._awaits_key = False

    def take(self, token: bytes) -> None:
        """Step over one token."""
        if token in b"{[":
            self.path.append("" if token == b"{" else 0)
            self._awaits_key = token == b"{"
        elif token in b"}]":
            del self.path[-1:]
            self._awaits_key = False
        elif token == b",":
            self._next_item()
        elif token == b":":
            self._awaits_key = False
        elif self._awaits_key and self.path:
            self.path[-1] = token[1:-1].decode(errors="replace")

    def _next_item(self) -> None:
        last = self.path[-1] if self.path else None
        if isinstance(last, int):
            self.path[-1] = last + 1
        elif last is not None:
            self.path[-1] = ""
            self._awaits_key = True
