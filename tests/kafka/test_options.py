import pytest

from drumline.core.errors import Invalid
from drumline.kafka import brokers_of
from drumline.settings import load_settings
from drumline.wiring import open_bus


@pytest.mark.parametrize(
    ("url", "brokers"),
    [
        ("kafka://one:9092", ("one:9092",)),
        ("kafka://one,two.example:9093/", ("one:9092", "two.example:9093")),
        ("kafka://[::1]:9092,[fe80::1]", ("[::1]:9092", "[fe80::1]:9092")),
    ],
)
def test_an_address_names_brokers(url: str, brokers: tuple[str, ...]) -> None:
    assert brokers_of(url) == brokers


@pytest.mark.parametrize("url", ["kafka://", "kafka://one,,two", "kafka://one:port", "kafka://one/topic"])
def test_what_names_no_brokers_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="must name brokers"):
        brokers_of(url)


def test_a_password_has_no_place_in_an_address() -> None:
    with pytest.raises(Invalid, match=r"bus\.username"):
        brokers_of("kafka://ada:secret@one:9092")


def test_without_an_address_there_is_no_bus() -> None:
    assert open_bus(load_settings({})) is None


def test_a_login_needs_a_name_and_a_password() -> None:
    settings = load_settings({"DRUMLINE_BUS_URL": "kafka://one", "DRUMLINE_BUS_SASL": "plain"})

    with pytest.raises(Invalid, match=r"bus\.password"):
        open_bus(settings)


async def test_the_settings_make_a_bus() -> None:
    settings = load_settings(
        {
            "DRUMLINE_BUS_URL": "kafka://one,two",
            "DRUMLINE_BUS_TLS": "yes",
            "DRUMLINE_BUS_SASL": "scram-sha-512",
            "DRUMLINE_BUS_USERNAME": "ada",
            "DRUMLINE_BUS_PASSWORD": "opensesame",
        }
    )

    bus = open_bus(settings)

    assert bus is not None
    assert "opensesame" not in repr(settings)
    await bus.close()
