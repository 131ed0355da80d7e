"""Renders a mail page as plain text and as HTML that fits a phone.

The HTML has one column, no pictures, no scripts and nothing to load, and looks as it should in light and in dark.
"""

from html import escape
from typing import Final

from msgspec import Struct

GREY: Final = "#6b7280"
TONES: Final = {"failed": "#b91c1c", "cancelled": GREY, "skipped": GREY, "completed": "#15803d"}
"""The colour of the line above a title; the title says the outcome in words too."""
FOOTER: Final = "Sent by Drumline, because this address is subscribed to it."

_BODY: Final = "margin:0;padding:16px;font:16px/1.5 system-ui,-apple-system,sans-serif"
_COLUMN: Final = "max-width:600px;margin:0 auto"
_CODE: Final = (
    "font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0;padding:12px;"
    "border:1px solid #9ca3af;border-radius:6px"
)
_BUTTON: Final = (
    "display:inline-block;padding:12px 20px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none"
)


class MailSection(Struct, frozen=True, kw_only=True):
    """A heading with rows of labels and values, or with preformatted text."""

    heading: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    code: str = ""
    link: str | None = None


class MailPage(Struct, frozen=True, kw_only=True):
    """The content of a mail: a title, sections, and a link to the interface."""

    title: str
    sections: tuple[MailSection, ...]
    link: str | None = None
    tone: str = ""


def as_text(page: MailPage) -> str:
    """Render the page as plain text."""
    blocks = [page.title, *(_section_text(section) for section in page.sections)]
    if page.link is not None:
        blocks.append(page.link)
    return "\n\n".join((*blocks, f"-- \n{FOOTER}\n"))


def _section_text(section: MailSection) -> str:
    wide = max((len(word) for word, _ in section.rows), default=0)
    lines = [section.heading] if section.heading else []
    lines += [f"{word:<{wide}}  {value}" for word, value in section.rows]
    lines += [f"    {line}" for line in section.code.splitlines()]
    if section.link is not None:
        lines.append(section.link)
    return "\n".join(lines)


def as_html(page: MailPage) -> str:
    """Render the page as HTML; all values are escaped."""
    sections = "".join(_section_html(section) for section in page.sections)
    button = f'<p><a style="{_BUTTON}" href="{escape(page.link)}">Open in Drumline</a></p>' if page.link else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(page.title)}</title></head>"
        f'<body style="{_BODY}"><div style="{_COLUMN}">'
        f'<h1 style="font-size:20px;overflow-wrap:anywhere;border-top:6px solid {TONES.get(page.tone, GREY)};'
        f'padding-top:12px">{escape(page.title)}</h1>{sections}{button}'
        f'<p style="color:{GREY};font-size:13px">{escape(FOOTER)}</p></div></body></html>'
    )


def _section_html(section: MailSection) -> str:
    heading = escape(section.heading)
    if section.link is not None:
        heading = f'<a href="{escape(section.link)}">{heading}</a>'
    rows = "".join(
        f'<tr><td style="color:{GREY};padding:2px 12px 2px 0;vertical-align:top">{escape(word)}</td>'
        f'<td style="overflow-wrap:anywhere">{escape(value)}</td></tr>'
        for word, value in section.rows
    )
    return "".join(
        (
            f'<h2 style="font-size:16px;overflow-wrap:anywhere">{heading}</h2>' if heading else "",
            f'<table style="border-collapse:collapse;font-size:15px">{rows}</table>' if rows else "",
            f'<pre style="{_CODE}">{escape(section.code)}</pre>' if section.code else "",
        )
    )
