"""What processes really expose on `/metrics`, and what expressions of PromQL ask of it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import urllib3
from msgspec import Struct

GIVEN_BY_PROMETHEUS = frozenset({"job", "instance"})

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SELECTOR = re.compile(r"\b((?:drumline|process|python)_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class Exposed:
    """The series of some processes: by name the labels, and by label the values that were seen."""

    def __init__(self) -> None:
        self.labels: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)

    @classmethod
    def by(cls, ports: Iterable[int]) -> "Exposed":
        """Read the metrics of processes on this machine."""
        exposed = cls()
        http = urllib3.PoolManager(retries=False, timeout=10)
        for port in ports:
            exposed.read(http.request("GET", f"http://127.0.0.1:{port}/metrics").data.decode())
        http.clear()
        return exposed

    def read(self, text: str) -> None:
        """Add the metrics of a process."""
        for line in text.splitlines():
            if match := _SAMPLE.match(line):
                known = self.labels[match[1]]
                for label, value in _LABEL.findall(match[2] or ""):
                    known.setdefault(label, set()).add(value)

    def faults(self, asked: "Asked") -> Iterator[str]:
        """Yield the metrics of an expression that no process exposes."""
        grouped = set(GIVEN_BY_PROMETHEUS)
        for name, matchers in asked.selectors:
            if name not in self.labels:
                yield f"{name} is exposed by nobody"
            grouped |= self.labels[name].keys() if name in self.labels else set()
            for label, how, value in matchers:
                seen = GIVEN_BY_PROMETHEUS | self.labels[name].keys()
                if label not in seen:
                    yield f"{name} has no label {label}"
                elif how == "=" and value not in self.labels[name].get(label, {value}):
                    yield f'{name} has no {label}="{value}"'
        yield from (f"nothing in it has the label {label}" for label in sorted(asked.grouping - grouped))


class Asked(Struct, frozen=True):
    """What an expression asks for: series with conditions on labels, and labels to group by."""

    selectors: list[tuple[str, list[tuple[str, str, str]]]]
    grouping: frozenset[str]

    @classmethod
    def of(cls, expression: str, shown: str = "") -> "Asked":
        """Return what an expression asks for, and what is `shown` of its answer."""
        selectors = [(name, _MATCHER.findall(matchers)) for name, matchers in _SELECTOR.findall(expression)]
        groups = [label.strip() for group in _GROUPING.findall(expression) for label in group.split(",")]
        return cls(selectors, frozenset({*groups, *_LEGEND.findall(shown)} - {""}))
