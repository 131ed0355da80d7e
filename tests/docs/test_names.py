"""Names in the pages exist: attributes of the SDK, settings, metrics and paths of the API."""

import re
from typing import Any

import drumline
from drumline.api.routes import OPERATIONS
from drumline.core.metrics import Metrics
from drumline.settings.leaves import LEAVES
from tests.docs.pages import ROOT, pages

PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in pages("*.md", "docs/*.md", "docs/*/*.md", "docs/how-to/runbooks/*.md")
    if page.name != "CHANGELOG.md" and page.parent.name != "adr"
}
OBJECTS: dict[str, Any] = {
    "ctx": drumline.Context,
    "app": drumline.Drumline,
    "dag": drumline.Dag,
    "job": drumline.JobHandle,
    "handle": drumline.TaskHandle,
}
"""What the pages call their examples."""
OTHERS = {"failed", "get_status", "return_value", "meta"}
"""An event, and what jobs of other systems have, on the page about moving from them."""
SOURCES = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
FILES = {"py", "yaml", "json", "md", "db", "sql", "txt", "csv", "pem", "toml"}


def has(kind: Any, name: str) -> bool:
    fields = getattr(kind, "__struct_fields__", ()) + tuple(getattr(kind, "__dataclass_fields__", ()))
    return hasattr(kind, name) or name in fields or name in getattr(kind, "__annotations__", {})


def inline(text: str) -> list[str]:
    """Return the texts between backticks in the sentences of a page."""
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", bare)


def test_attributes_of_the_sdk_exist() -> None:
    missing = [
        f"{page}: {name}.{attribute}"
        for page, text in PAGES.items()
        for name, attribute in re.findall(r"(?<![\w./])(ctx|app|dag|job|handle)\.([a-z_]+)\b(?!\.md)", text)
        if attribute not in FILES | OTHERS and not has(OBJECTS[name], attribute)
    ]

    assert missing == []


def test_settings_exist() -> None:
    rooms = {path.partition(".")[0] for path in LEAVES if "." in path}
    missing = [
        f"{page}: {path}"
        for page, text in PAGES.items()
        for part in inline(text)
        for path in re.findall(r"^([a-z_]+\.[a-z_.]+?)(?:@\w+)?(?:[=:].*)?$", part)
        if path.partition(".")[0] in rooms
        and path not in LEAVES
        and f"drumline_{path.replace('.', '_')}_total" not in SOURCES  # another name for that metric
        and not re.search(rf"[\"']{re.escape(path)}[\"']", SOURCES)  # events of the log, findings, metrics
        and not path.endswith(tuple(f".{one}" for one in FILES))
    ]

    assert rooms
    assert missing == []


def test_metrics_exist() -> None:
    known = {family.name for family in Metrics().families()}
    endings = re.compile(r"_(count|sum|bucket)$")
    missing = [
        f"{page}: {name}"
        for page, text in PAGES.items()
        for part in inline(text)
        for name in re.findall(r"\bdrumline_[a-z_]+\b(?!\*|…)", part)
        if name.endswith(("_total", "_seconds", "_count", "_tasks")) and endings.sub("", name) not in known
    ]

    assert missing == []


def test_paths_of_the_api_exist() -> None:
    known = [re.compile(re.sub(r"\{\w+\}", "[^/]+", one.path)) for one in OPERATIONS]
    missing = [
        f"{page}: {path}"
        for page, text in PAGES.items()
        for path in re.findall(r"(?<![\w.])(/api/v1/[\w/{}$-]+)", text)
        if not any(one.fullmatch(path.rstrip("/")) for one in known)
    ]

    assert missing == []
