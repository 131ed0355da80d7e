"""Links, places in JSON, shortened texts and names of tenants."""

import pytest

from drumline.core.errors import Invalid
from drumline.core.json_place import JsonPlace
from drumline.core.links import event_link, page_url, server_url
from drumline.core.shorten import shorten
from drumline.core.tenant import Quotas, check_tenant, is_default


@pytest.mark.parametrize("largest", [1, 60, 119, 120, 121, 200, 999])
def test_a_shortened_text_is_no_longer_than_asked_for(largest: int) -> None:
    assert 0 < len(shorten("x" * 1000, largest)) <= largest


@pytest.mark.parametrize(("largest", "shown"), [(3, "abc"), (2, "bc"), (1, "c"), (0, ""), (-1, "")])
def test_of_a_text_with_little_room_the_end_is_kept(largest: int, shown: str) -> None:
    assert shorten("abc", largest) == shown
    assert shorten("a" + "z" * 200, 120) == "z" * 120


def test_a_third_of_the_room_is_for_the_beginning() -> None:
    text = "a" * 5000 + "z" * 5000

    assert shorten(text, 10_000) == text
    assert shorten(text + "z", 3060) == "a" * 1000 + "\n[7,001 characters left out]\n" + "z" * 2000


@pytest.mark.parametrize(
    "url", ["https://q.example", "https://q.example/", "https://q.example/ui", "https://q.example/ui/"]
)
def test_links_lead_to_the_interface_however_its_address_is_given(url: str) -> None:
    assert server_url(url) == "https://q.example"
    assert page_url(url, "tasks", "a/b c") == "https://q.example/ui/tasks/a%2Fb%20c"
    assert event_link(url, "drumline.job.failed", "7") == "https://q.example/ui/jobs/7"


def test_there_is_no_link_without_an_address_or_a_page() -> None:
    assert event_link(None, "drumline.task.failed", "7") is None
    assert event_link("", "drumline.task.failed", "7") is None
    assert event_link("https://q.example", "drumline.queue.paused", "mail") is None


def test_a_place_is_written_as_people_write_it() -> None:
    assert str(JsonPlace("payload") / "items" / 3 / "id") == "payload.items[3].id"
    assert str(JsonPlace(0) / "a") == "[0].a"


def test_of_a_long_place_the_first_steps_are_shown() -> None:
    place = JsonPlace("a")
    for number in range(19):
        place = place / number

    assert str(place) == "a" + "".join(f"[{number}]" for number in range(19))
    assert str(place / "b") == f"{place}…"


@pytest.mark.parametrize(("length", "shown"), [(100, "x" * 100), (101, "x" * 100 + "…")])
def test_of_a_long_name_100_characters_are_shown(length: int, shown: str) -> None:
    assert str(JsonPlace("p") / ("x" * length)) == f"p.{shown}"


@pytest.mark.parametrize("name", ["a", "0", "acme", "a.b-c_d", "a" * 63])
def test_names_of_tenants_are_lower_case_words(name: str) -> None:
    assert check_tenant(name) == name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a" * 64, "name: must be at most 63 characters"),
        *(
            (name, "name: must be lower-case letters, digits and _ . - only, and start with a letter or digit")
            for name in ("", "A", "-a", ".a", "a b", "a\n", "ä")
        ),
    ],
)
def test_other_names_of_tenants_are_refused(name: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_tenant(name)

    assert str(caught.value) == told
    with pytest.raises(Invalid, match=r"^tenant: "):
        check_tenant(name, field="tenant")


def test_every_installation_has_the_default_tenant() -> None:
    assert is_default("default")
    assert not is_default("acme")


@pytest.mark.parametrize(
    ("quotas", "are_about_tasks"),
    [
        (Quotas(), False),
        (Quotas(queued=0), True),
        (Quotas(payload_bytes=0), True),
        (Quotas(schedules=1, weight=2), False),
    ],
)
def test_only_some_quotas_are_looked_at_when_tasks_come_in(quotas: Quotas, are_about_tasks: bool) -> None:
    assert quotas.are_about_tasks is are_about_tasks
