"""The story of a seed is the same each time it is told."""

import itertools
import re

import msgspec

from drumline.demo.scenario import Request, closing, going_on, opening
from drumline.demo.tasks import app, chance, seconds

RECEIVER = "http://127.0.0.1:9"


def story(seed: int) -> list[Request]:
    """Return the opening, what follows it, and the first five minutes."""
    minutes = itertools.chain.from_iterable(itertools.islice(going_on(seed, 2.5), 300))
    return [*opening(seed, RECEIVER), *closing(seed), *minutes]


def named(asks: list[Request]) -> set[str]:
    """Return the names of all tasks that are asked for."""
    return set(re.findall(r'"name":"([a-z]+\.[a-z]+)"', msgspec.json.encode(asks).decode()))


def test_a_seed_tells_the_same_story_each_time() -> None:
    assert story(7) == story(7)


def test_another_seed_tells_another_story() -> None:
    assert story(7) != story(8)


def test_every_task_of_the_story_has_a_function_but_for_the_one_that_nobody_has() -> None:
    assert named(story(7)) - set(app.registry.names) == {"legacy.fax"}


def test_every_function_has_its_part_in_the_story() -> None:
    assert set(app.registry.names) <= named(story(7))


def test_the_rate_is_kept_whatever_fraction_it_is() -> None:
    asked = [ask for asks in itertools.islice(going_on(7, 0.4), 7) for ask in asks]

    assert sum(len((ask.body or {})["tasks"]) for ask in asked) == 2


def test_luck_depends_on_the_facts_alone() -> None:
    assert chance("order", 1) == chance("order", 1)
    assert chance("order", 1) != chance("order", 2)
    assert all(0.0 <= chance(number) < 1.0 for number in range(1_000))
    assert 2.0 <= seconds(2.0, 3.0, "anything") <= 3.0
