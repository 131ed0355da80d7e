"""Contexts: a server and its key under a name, and a production one that asks before it is changed."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from drumline.cli.context_store import ContextStore, user_file
from drumline.cli.errors import ExitCode
from tests.black_box.server import Server
from tests.cli.conftest import Drumline


@pytest.fixture
def logged_in(drumline: Drumline, server: Server) -> Drumline:
    """Commands whose current context is the server."""
    assert drumline("login", server.url, "--name", "here", "--api-key", server.key).code == 0
    return drumline


def test_after_a_login_commands_use_that_server(logged_in: Drumline) -> None:
    submitted = logged_in("submit", "nothing.runs.this")

    assert submitted.code == 0
    assert logged_in("tasks", "get", submitted.out.strip(), "--json").json["name"] == "nothing.runs.this"


def test_a_login_checks_the_key_and_stores_nothing_if_it_is_refused(drumline: Drumline, server: Server) -> None:
    refused = drumline("login", server.url, stdin="sk_live_wrong\n")

    assert refused.code == 4
    assert not user_file().exists()


def test_the_key_is_read_from_a_pipe_and_the_host_is_the_name(drumline: Drumline, server: Server) -> None:
    done = drumline("login", server.url, stdin=f"{server.key}\n")

    assert done.code == 0
    (context,) = drumline("context", "list", "--json").json
    assert context == {"name": "127.0.0.1", "url": server.url, "production": False, "current": True, "key": "file"}
    assert server.key not in done.out + done.err


def test_only_its_owner_can_read_the_file_of_contexts(logged_in: Drumline) -> None:
    assert logged_in("context", "show").code == 0
    assert user_file().stat().st_mode & 0o077 == 0


def test_a_production_context_asks_before_a_change_and_not_before_a_look(drumline: Drumline, server: Server) -> None:
    drumline("login", server.url, "--name", "prod", "--production", "--api-key", server.key)

    asked = drumline("submit", "nothing.runs.this")
    done = drumline("--yes", "submit", "nothing.runs.this")

    assert asked.code == 2
    assert "prod" in asked.err
    assert "--yes" in asked.err
    assert drumline("tasks", "list").code == 0
    assert done.code == 0


def test_flags_of_the_program_may_follow_the_command(logged_in: Drumline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_URL", "http://127.0.0.1:9")

    assert logged_in("tasks", "list", "--context", "here").code == 0
    assert logged_in("tasks", "list", "-q", "none", "--quiet", "--context=here").code == 0  # -q is the queue here
    assert logged_in("context", "use", "here", "--quiet").err == ""
    assert logged_in("tasks", "list", "--context", "nowhere").code == ExitCode.NOT_FOUND
    assert "--quiet" not in logged_in("tasks", "list", "--help").out


def test_a_production_context_takes_the_yes_after_the_command(logged_in: Drumline, server: Server) -> None:
    logged_in("login", server.url, "--name", "live", "--production", "--api-key", server.key)
    try:
        assert logged_in("queues", "pause", "kept-open", "--create").code == ExitCode.USAGE
        assert logged_in("queues", "pause", "kept-open", "--create", "--yes").code == 0
        assert logged_in("queues", "resume", "kept-open", "-y").code == 0
    finally:
        logged_in("context", "use", "here")
        logged_in("context", "remove", "live", "--yes")


def test_a_flag_an_environment_variable_and_local_go_before_the_current_context(
    logged_in: Drumline, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert logged_in("tasks", "list", "--url", "http://127.0.0.1:9").code == 8
    monkeypatch.setenv("DRUMLINE_URL", "http://127.0.0.1:9")
    assert logged_in("tasks", "list").code == 8
    assert logged_in("--context", "here", "tasks", "list").code == 0
    monkeypatch.delenv("DRUMLINE_URL")
    assert logged_in("context", "use", "local").code == 0
    assert ContextStore.of_user().current is None


def test_a_context_that_does_not_exist_is_answered_with_the_nearest(logged_in: Drumline) -> None:
    wrong = logged_in("context", "use", "her")

    assert wrong.code == 3
    assert "here" in wrong.err


def test_a_removed_context_is_gone_with_its_key(logged_in: Drumline) -> None:
    assert logged_in("context", "remove", "here").code == 0

    assert logged_in("context", "list", "--json").json == []
    assert "key" not in user_file().read_text()


@pytest.mark.parametrize("name", ["", "local", "a b", "x" * 65, 'a"b'])
def test_a_name_that_cannot_be_used_is_refused(drumline: Drumline, server: Server, name: str) -> None:
    refused = drumline("login", server.url, "--name", name, "--api-key", server.key)

    assert refused.code == (2 if name else 0)


def test_a_file_that_is_not_toml_is_named(drumline: Drumline) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("current = [")

    broken = drumline("context", "list")

    assert broken.code == 2
    assert str(user_file()) in broken.err


def test_a_keyring_keeps_the_key_where_there_is_one(
    drumline: Drumline, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    ring, backends, fail = ModuleType("keyring"), ModuleType("keyring.backends"), ModuleType("keyring.backends.fail")
    fail.Keyring = type("Keyring", (), {})  # type: ignore[attr-defined]
    ring.get_keyring = object  # type: ignore[attr-defined]
    ring.set_password = lambda service, name, key: kept.__setitem__((service, name), key)  # type: ignore[attr-defined]
    ring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    ring.delete_password = lambda service, name: kept.__delitem__((service, name))  # type: ignore[attr-defined]
    for module in (ring, backends, fail):
        monkeypatch.setitem(sys.modules, module.__name__, module)

    drumline("login", server.url, "--name", "here", "--api-key", server.key)

    assert kept == {("drumline", "here"): server.key}
    assert server.key not in Path(user_file()).read_text()
    assert drumline("tasks", "list").code == 0
    assert drumline("context", "remove", "here").code == 0
    assert kept == {}


def test_quiet_leaves_out_messages_and_keeps_data_and_errors(logged_in: Drumline) -> None:
    quiet = logged_in("--quiet", "context", "use", "here")
    failed = logged_in("--quiet", "tasks", "get", "nonsense")

    assert (quiet.code, quiet.err) == (0, "")
    assert failed.code != 0
    assert failed.err
