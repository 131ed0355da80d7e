"""Finds the endpoint of a path, in a number of steps that does not grow with how many paths there are."""

from dataclasses import dataclass, field

from starlette.types import ASGIApp


@dataclass(slots=True)
class PathNode:
    """What may follow the parts of a path up to here, and the endpoint of a path that ends here."""

    parts: dict[str, "PathNode"] = field(default_factory=dict)
    parameter: "PathNode | None" = None
    """What follows a part that is a parameter."""
    names: tuple[str, ...] = ()
    endpoint: ASGIApp | None = None

    def add(self, path: str, endpoint: ASGIApp) -> None:
        """Lead a path to an endpoint; a part in braces is a parameter."""
        node, names = self, []
        for part in path.split("/"):
            if part.startswith("{"):
                names.append(part.strip("{}"))
                node.parameter = node.parameter or PathNode()
                node = node.parameter
            else:
                node = node.parts.setdefault(part, PathNode())
        node.names, node.endpoint = tuple(names), endpoint

    def find(self, path: str) -> tuple[ASGIApp, dict[str, str]] | None:
        """Return the endpoint of a path and what its parameters are; None if there is none."""
        found = self.follow(path.split("/"), 0, ())
        if found is None or found[0].endpoint is None:
            return None
        node, values = found
        return found[0].endpoint, dict(zip(node.names, values, strict=True))

    def follow(self, parts: list[str], at: int, values: tuple[str, ...]) -> tuple["PathNode", tuple[str, ...]] | None:
        """Return where the parts from `at` on lead to; a part that is named goes before a parameter."""
        if at == len(parts):
            return None if self.endpoint is None else (self, values)
        part = parts[at]
        known = self.parts.get(part)
        if known is not None and (found := known.follow(parts, at + 1, values)) is not None:
            return found
        if self.parameter is None or not part:
            return None
        return self.parameter.follow(parts, at + 1, (*values, part))
