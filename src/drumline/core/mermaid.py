"""A graph of tasks as Mermaid text, for documents and pull requests."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from drumline.core.graph_folding import Vertex, fold, unfolded

MOST_BOXES: Final = 60
"""What a page can show; larger graphs are folded more coarsely."""

_STYLES: Final = {
    "PENDING": "fill:#eef2f7,stroke:#64748b,color:#0f172a",
    "QUEUED": "fill:#e0f2fe,stroke:#0284c7,color:#0c4a6e",
    "PROCESSING": "fill:#fef9c3,stroke:#ca8a04,color:#713f12",
    "COMPLETED": "fill:#dcfce7,stroke:#16a34a,color:#14532d",
    "FAILED": "fill:#fee2e2,stroke:#dc2626,color:#7f1d1d",
    "CANCELLED": "fill:#f3e8ff,stroke:#9333ea,color:#581c87",
    "SKIPPED": "fill:#f5f5f4,stroke:#a8a29e,color:#57534e,stroke-dasharray:4",
}
"""Colours per status; the word stands in the box as well, so that colour is never the only sign."""
_WORST_FIRST: Final = ("FAILED", "PROCESSING", "QUEUED", "PENDING", "CANCELLED", "SKIPPED", "COMPLETED")
_UNSAFE: Final = re.compile(r"[#\"<>&`{}\[\]|\\\x00-\x1f]")


def mermaid(vertices: Sequence[Vertex], *, folded: bool = True) -> str:
    """Return the graph as a Mermaid flowchart, with the statuses that are known; alike tasks are one box."""
    folds = fold(vertices, most=MOST_BOXES) if folded else unfolded(vertices)
    lines = ["flowchart TD"]
    used: dict[str, list[str]] = {}
    for number, one in enumerate(folds):
        words = [one.label, one.name if one.name != one.label else "", _counts(one.statuses, len(one.keys))]
        if one.run_if:
            words.append(f"run if {one.run_if}")
        lines.append(f'    t{number}["{"<br/>".join(_quoted(word) for word in words if word)}"]')
        worst = next((status for status in _WORST_FIRST if status in one.statuses), None)
        if worst is not None:
            used.setdefault(worst, []).append(f"t{number}")
    lines += [f"    t{need} --> t{number}" for number, one in enumerate(folds) for need in one.needs]
    for status, boxes in used.items():
        lines += [f"    classDef {status.lower()} {_STYLES[status]}", f"    class {','.join(boxes)} {status.lower()}"]
    return "\n".join(lines) + "\n"


def _counts(statuses: Mapping[str, int], size: int) -> str:
    return ", ".join(status if size == 1 else f"{count:,} {status}" for status, count in statuses.items())


def _quoted(text: str) -> str:
    """Return a text that Mermaid shows as it is: other signs are written as their number."""
    return _UNSAFE.sub(lambda sign: f"#{ord(sign[0])};", text)
