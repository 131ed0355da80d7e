"""What a letter is printed on: a page of parts, as plain text and as HTML that fits a phone.

The HTML has one column, no pictures, no scripts and nothing to load, and looks as it should in light and in dark.
"""

from html import escape
from typing import Final

from msgspec import Struct

GREY: Final = "#6b7280"
TONES: Final = {"failed": "#b91c1c", "cancelled": GREY, "skipped": GREY, "completed": "#15803d"}
"""The colour of the line above a title; what happened is also said in words."""
FOOTER: Final = "Sent by Drumline, since somebody asked that this address be told."

_BODY: Final = "margin:0;padding:16px;font:16px/1.5 system-ui,-apple-system,sans-serif"
_COLUMN: Final = "max-width:600px;margin:0 auto"
_CODE: Final = (
    "font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0;padding:12px;"
    "border:1px solid #9ca3af;border-radius:6px"
)
_BUTTON: Final = (
    "display:inline-block;padding:12px 20px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none"
)


class Part(Struct, frozen=True, kw_only=True):
    """A heading with rows of words and values, or with text that is shown as it is."""

    heading: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    code: str = ""
    link: str | None = None


class Page(Struct, frozen=True, kw_only=True):
    """A letter before it is printed."""

    title: str
    parts: tuple[Part, ...]
    link: str | None = None
    tone: str = ""


def as_text(page: Page) -> str:
    """Return the page for those who read plain text."""
    blocks = [page.title, *(_part_text(part) for part in page.parts)]
    if page.link is not None:
        blocks.append(page.link)
    return "\n\n".join((*blocks, f"-- \n{FOOTER}\n"))


def _part_text(part: Part) -> str:
    wide = max((len(word) for word, _ in part.rows), default=0)
    lines = [part.heading] if part.heading else []
    lines += [f"{word:<{wide}}  {value}" for word, value in part.rows]
    lines += [f"    {line}" for line in part.code.splitlines()]
    if part.link is not None:
        lines.append(part.link)
    return "\n".join(lines)


def as_html(page: Page) -> str:
    """Return the page for those whose program shows HTML; every word in it is escaped."""
    parts = "".join(_part_html(part) for part in page.parts)
    button = f'<p><a style="{_BUTTON}" href="{escape(page.link)}">Open in Drumline</a></p>' if page.link else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(page.title)}</title></head>"
        f'<body style="{_BODY}"><div style="{_COLUMN}">'
        f'<h1 style="font-size:20px;overflow-wrap:anywhere;border-top:6px solid {TONES.get(page.tone, GREY)};'
        f'padding-top:12px">{escape(page.title)}</h1>{parts}{button}'
        f'<p style="color:{GREY};font-size:13px">{escape(FOOTER)}</p></div></body></html>'
    )


def _part_html(part: Part) -> str:
    heading = escape(part.heading)
    if part.link is not None:
        heading = f'<a href="{escape(part.link)}">{heading}</a>'
    rows = "".join(
        f'<tr><td style="color:{GREY};padding:2px 12px 2px 0;vertical-align:top">{escape(word)}</td>'
        f'<td style="overflow-wrap:anywhere">{escape(value)}</td></tr>'
        for word, value in part.rows
    )
    return "".join(
        (
            f'<h2 style="font-size:16px;overflow-wrap:anywhere">{heading}</h2>' if heading else "",
            f'<table style="border-collapse:collapse;font-size:15px">{rows}</table>' if rows else "",
            f'<pre style="{_CODE}">{escape(part.code)}</pre>' if part.code else "",
        )
    )
