"""What is told of a change of the runtime configuration."""

from drumline.core.event import Fact
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig, config_changed, differences

FIRST = RuntimeConfig(version=1, settings={"a": 1, "b": {"c": 2}}, changed_by="ada")
SECOND = RuntimeConfig(version=2, settings={"z": 1, "b": {"c": 2}, "a": 5}, changed_by="bob", reason="why")


def test_the_event_of_a_change_names_the_keys_that_changed() -> None:
    assert config_changed(FIRST, SECOND) == Fact(
        "drumline.config.changed", "config", "", {"version": 2, "keys": ["a", "z"], "by": "bob", "reason": "why"}
    )
    assert config_changed(NO_CONFIG, FIRST).data == {"version": 1, "keys": ["a", "b"], "by": "ada", "reason": None}


def test_differences_have_both_values_and_null_where_there_is_none() -> None:
    assert differences(FIRST.settings, SECOND.settings) == {
        "a": {"before": 1, "after": 5},
        "z": {"before": None, "after": 1},
    }
    assert list(differences(SECOND.settings, FIRST.settings)) == ["a", "z"]
    assert differences(FIRST.settings, FIRST.settings) == {}
