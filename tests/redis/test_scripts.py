"""Scripts, keys and their page fit together."""

import re
from importlib.resources import files
from pathlib import Path

from drumline.core.task import Lane
from drumline.redis import keys
from drumline.redis.keys import QueueKeys, lane_text, parse_lane
from drumline.redis.scripts import SCRIPTS

SOURCES = Path(str(files("drumline.redis")))


def test_every_script_is_used_and_every_name_has_a_script() -> None:
    used = set()
    for source in SOURCES.glob("*.py"):
        used |= set(re.findall(r'(?:Call|self\._run)\(\s*"([a-z_]+)"', source.read_text("utf-8")))

    assert used == set(SCRIPTS)


def test_every_script_says_what_it_takes_and_gives() -> None:
    for name in SCRIPTS:
        text = (SOURCES / "lua" / f"{name}.lua").read_text("utf-8")
        assert all(f"-- {word} " in text for word in ("KEYS", "ARGV", "GIVES")), name


def test_every_key_of_the_queue_is_on_the_page_and_on_one_node() -> None:
    names = QueueKeys("")

    for key in vars(names).values():
        assert key.startswith("{queue}:")
        assert f"`<prefix>{key}" in str(keys.__doc__)


def test_a_lane_reads_as_it_was_written() -> None:
    for lane in (Lane("default", "mail", "send it  now", -5), Lane("a b", "q", "%20 100%", 100)):
        assert parse_lane(lane_text(lane)) == lane
