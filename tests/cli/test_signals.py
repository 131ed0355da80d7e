"""Durable tasks on the command line."""

from tests.cli.conftest import Drumline


def test_a_signal_is_sent_and_steps_are_listed(online: Drumline) -> None:
    task = online("submit", "nothing that runs", "--json").json["id"]

    first = online("tasks", "signal", task, "approved", "-p", '{"by": "ada"}', "--id", "one")
    again = online("tasks", "signal", task, "approved", "-p", '{"by": "ada"}', "--id", "one", "--json")
    steps = online("tasks", "steps", task, "--json")

    assert (first.code, first.out.strip()) == (0, "one")
    assert "kept until the task waits for it" in first.err
    assert again.json == {"id": "one", "created": False, "woken": 0}
    assert steps.json == []


def test_the_children_of_a_task_are_listed(online: Drumline) -> None:
    task = online("submit", "nothing that runs", "--json").json["id"]

    assert online("tasks", "children", task, "--json").json == []
    assert online("tasks", "children", "01890a5d-ac96-774b-bcce-b302099a8057").code != 0
