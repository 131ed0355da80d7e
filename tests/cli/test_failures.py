"""Failures and bulk operations on the command line."""

import pytest

from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline


@pytest.fixture
def tag(server: Server, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three tasks that have failed for good, under a tag of the test's own."""
    traces = tmp_path_factory.mktemp("failures") / "traces"
    word = str(request.node.name)[:60]
    for _ in range(3):
        server.submit("work.refuse", payload={"file": str(traces)}, tags=[word])
    eventually(lambda: len(ids(server, word)) == 3, 20)
    return word


def ids(server: Server, tag: str) -> list[str]:
    return [failure["id"] for failure in server.ask("GET", f"/api/v1/failures?tag={tag}")[1]["items"]]


def test_failures_are_listed_and_shown(online: Drumline, server: Server, tag: str) -> None:
    listed = online("failures", "list", "--tag", tag, "--json").json
    shown = online("failures", "show", listed[0]["id"])
    table = online("failures", "list", "--tag", tag).out

    assert [failure["id"] for failure in listed] == ids(server, tag)
    assert "permanent, after 1 attempt" in shown.out
    assert "Permanent: never" in shown.out
    assert all(failure["id"] in table for failure in listed)
    assert online("failures", "show", listed[0]["id"], "--json").json["task"]["tags"] == [tag]


def test_groups_count_what_has_one_cause(online: Drumline, tag: str) -> None:
    groups = online("failures", "groups", "--name", "work.refuse", "--json").json

    assert [group["kind"] for group in groups] == ["Permanent"]
    assert groups[0]["count"] >= 3
    listed = online("failures", "list", "-f", groups[0]["fingerprint"], "--tag", tag, "--fields", "id", "--json").json
    assert len(listed) == 3


def test_a_filtered_set_needs_a_yes_and_is_retried(online: Drumline, server: Server, tag: str) -> None:
    before = ids(server, tag)

    refused = online("failures", "retry", "--tag", tag)
    done = online("failures", "retry", "--tag", tag, "--yes", "--reason", "try again", "--json")

    assert refused.code == 2
    assert "Retry 3 failures" in refused.err
    assert done.code == 0
    assert (done.json["state"], done.json["done"], done.json["reason"]) == ("completed", 3, "try again")
    eventually(lambda: all(len(server.attempts(task)) == 2 for task in before), 20)


def test_a_dry_run_counts_and_changes_nothing(online: Drumline, server: Server, tag: str) -> None:
    ran = online("failures", "discard", "--tag", tag, "--dry-run")

    assert ran.code == 0
    assert ran.out.startswith("3 failures")
    assert len(ids(server, tag)) == 3


def test_failures_are_discarded(online: Drumline, server: Server, tag: str) -> None:
    one, *others = ids(server, tag)

    assert online("failures", "discard", one, "--yes").code == 0
    assert ids(server, tag) == others
    ended = online("failures", "discard", "--tag", tag, "--yes")

    assert "discard completed: 2 of 2 done" in ended.out
    assert online("failures", "discard", "--tag", tag, "--yes").out.startswith("No failure")


def test_one_is_retried_with_another_payload(online: Drumline, server: Server, tag: str, tmp_path: object) -> None:
    one = ids(server, tag)[0]

    ran = online("failures", "retry", one, "--payload", f'{{"file": "{tmp_path}/x"}}')

    assert ran.code == 0
    assert server.get(one)["payload"] == {"file": f"{tmp_path}/x"}
    assert online("failures", "retry", one, "--payload", "{").code == 2
    assert online("failures", "retry", "--tag", tag, "--payload", "{}").code == 2


def test_which_failures_has_to_be_said(online: Drumline) -> None:
    for words in ((), ("--all", "--queue", "mail")):
        ran = online("failures", "retry", *words, "--yes")

        assert ran.code == 2
        assert "--all" in ran.err


def test_a_bulk_operation_is_watched_and_aborted(online: Drumline, tag: str) -> None:
    began = online("failures", "retry", "--tag", tag, "--rate", "0.001", "--yes", "--no-wait").out.strip()

    late = online("bulk", "watch", began, "--timeout", "0.1")
    asked = online("bulk", "abort", began)
    aborted = online("bulk", "abort", began, "--yes")

    assert late.code == 7
    assert asked.code == 2
    assert "left?" in asked.err
    assert "aborted" in aborted.out
    assert online("bulk", "abort", began, "--yes").code == 9
    assert online("bulk", "get", began, "--json").json["state"] == "aborted"
    assert "named one by one" not in online("bulk", "get", began).out
    listed = online("bulk", "list", "--state", "aborted", "--json").json
    assert began in {bulk["id"] for bulk in listed}


def test_what_was_passed_over_is_told(online: Drumline, server: Server, tag: str) -> None:
    nobodys = "01890a5d-ac96-774b-bcce-b302099a8057"

    ended = online("failures", "discard", *ids(server, tag), nobodys, "--yes")

    assert ended.code == 1
    assert "3 of 4 done, 1 failed" in ended.out
    bulk = ended.out.split()[0]
    assert "there is no task" in online("bulk", "get", bulk).out


def test_a_group_is_shown_and_decided_about(online: Drumline, server: Server, tag: str) -> None:
    failure = online("failures", "list", "--tag", tag, "--json").json[0]
    group = failure["fingerprint"]

    shown = online("failures", "show", group)
    acknowledged = online("failures", "ack", group, "--owner", "ada", "--note", "looking")
    resolved = online("failures", "resolve", group, "--json").json
    ignored = online("failures", "ignore", group, "--until", "24h", "--json").json
    listed = online("failures", "groups", "--state", "ignored", "--json").json
    reopened = online("failures", "reopen", group)

    assert "Permanent: never" in shown.out
    assert failure["id"] in shown.out
    assert "Traceback" in shown.out.partition("\nexample ")[2].partition("\npayload ")[2].partition("\nerror ")[2]
    assert acknowledged.out.strip() == f"{group}  acknowledged"
    assert (resolved["state"], resolved["owner"], resolved["note"]) == ("resolved", "ada", "looking")
    assert (ignored["state"], [each["fingerprint"] for each in listed]) == ("ignored", [group])
    assert reopened.out.strip() == f"{group}  open"
    assert server.ask("GET", f"/api/v1/failures/groups/{group}")[1]["owner"] == "ada"


def test_some_of_a_group_are_retried_first(online: Drumline, server: Server, tag: str) -> None:
    before = ids(server, tag)

    done = online("failures", "retry", "--tag", tag, "--first", "2", "--yes", "--json")

    assert (done.code, done.json["total"]) == (0, 2)
    eventually(lambda: sorted(len(server.attempts(task)) for task in before) == [1, 2, 2], 20)


def test_a_failure_is_named_by_a_part_of_its_id(online: Drumline, server: Server, tag: str) -> None:
    one, *_ = ids(server, tag)

    assert online("failures", "show", one[-8:], "--json").json["task"]["id"] == one
    assert online("failures", "show", one[-12:], "--json").json["task"]["id"] == one
    assert online("failures", "retry", one[-8:]).out.startswith(one)
    assert online("failures", "discard", "ffffffff", "--yes").code == 3
    assert "has the fingerprint 0123456789ab" in online("failures", "show", "0123456789ab").err


def test_failures_are_chosen_by_terms_and_by_the_text_of_their_errors(
    online: Drumline, server: Server, tag: str
) -> None:
    one, *others = ids(server, tag)

    counted = online("failures", "retry", "--tag", tag, "--error", "never", "--dry-run", "--json").json
    done = online("failures", "discard", "--tag", tag, "--filter", f"-id:{one}", "--yes", "--json").json
    missing = online("failures", "retry", "--tag", tag, "--error", "no such text", "--yes")

    assert counted["total"] == 3
    assert done["done"] == len(others)
    assert ids(server, tag) == [one]
    assert (missing.code, "no failures match" in missing.err) == (3, True)


def test_groups_are_chosen_by_terms_and_times_and_sorted(online: Drumline, tag: str) -> None:
    groups = ("failures", "groups", "--name", "work.refuse", "--json")

    assert len(online(*groups, "--filter", "error:never count>2", "--since", "1h", "--sort", "-count").json) == 1
    assert online(*groups, "--error", f"not {tag}").json == []
    assert online(*groups, "--until", "2020-01-01").json == []
    assert online(*groups, "--sort", "nothing").code == 2


def test_no_group_of_that_fingerprint_is_an_error(online: Drumline) -> None:
    assert online("failures", "resolve", "0123456789ab").code == 3
