"""Take pictures of the web interface, showing the demo: the two in docs/images, or every screen.

python scripts/ui_pictures.py                       the pictures that the README shows
python scripts/ui_pictures.py --all FOLDER          every screen, light and dark, wide and narrow
python scripts/ui_pictures.py --url URL --key KEY   of a server that is running, instead of a demo of its own
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.black_box.server import Server  # noqa: E402
from tests.harness.browser import Visitor, chromium, visit  # noqa: E402
from tests.ui.places import SCREENS, pages_of  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTHS = {"wide": (1440, 900), "narrow": (390, 780)}
SETTLE_SECONDS = 960.0
"""How long the demo runs before it is looked at: by then the charts of the last 15 minutes are full."""


class Elsewhere(Server):
    """A server that is running already."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(Path(tempfile.gettempdir()) / "nowhere")
        self.url, self.key = url, key


async def take_all(server: Server, folder: Path, only: str) -> None:
    """Take a picture of every screen in every theme and width."""
    places = [place for place in [*SCREENS, *pages_of(server)] if only in place]
    async with chromium() as browser:
        for theme in ("light", "dark"):
            for name, (width, height) in WIDTHS.items():
                context, someone = await visit(
                    browser, server.url, server.key, color_scheme=theme, viewport={"width": width, "height": height}
                )
                await someone.log_in()
                for number, place in enumerate(places):
                    await someone.open(place)
                    await asyncio.sleep(0.4)
                    stem = place.strip("/").replace("/", "-").replace("?", "_").replace("=", "-").replace("&", "_")
                    await someone.page.screenshot(path=folder / f"{name}-{theme}-{number:02d}-{stem[:40]}.png")
                for fault in someone.faults:
                    print(name, theme, fault)
                await context.close()


async def take_for_readme(server: Server) -> None:
    """Take the pictures of the README."""
    _, jobs = server.ask("GET", "/api/v1/jobs?status=FAILED&name=close%20the%20month")
    places = (("overview", "light", "/overview?last=15m"), ("job", "dark", f"/jobs/{jobs['items'][0]['id']}"))
    async with chromium() as browser:
        for name, theme, place in places:
            context, someone = await visit(
                browser, server.url, server.key, color_scheme=theme, viewport={"width": 1280, "height": 760}
            )
            await someone.log_in()
            await _picture(someone, place, IMAGES / f"{name}.png")
            await context.close()


async def _picture(someone: Visitor, place: str, file: Path) -> None:
    await someone.open(place)
    await asyncio.sleep(1.5)
    await someone.page.screenshot(path=file)


def main() -> None:
    """Take the pictures that the arguments name."""
    parser = argparse.ArgumentParser(description="Take pictures of the web interface.")
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --all: only places with this text")
    parser.add_argument("--url")
    parser.add_argument("--key")
    given = parser.parse_args()
    (given.all or IMAGES).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server: Server
        if given.url:
            server = Elsewhere(given.url, given.key)
        else:
            server = Server(Path(folder) / "data", "--seed", "7", app=None, program="demo").start()
            time.sleep(SETTLE_SECONDS)
        try:
            asyncio.run(take_all(server, given.all, given.only) if given.all else take_for_readme(server))
        finally:
            if not given.url:
                server.terminate()


if __name__ == "__main__":
    main()
