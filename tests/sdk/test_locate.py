import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from drumline import Drumline, Invalid
from drumline.sdk.http import HttpTransport
from drumline.sdk.locate import Direct, locate


def test_without_anything_there_is_only_the_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    place = locate()

    assert (place.data, place.url, place.api_key) == (tmp_path / ".drumline", None, None)


def test_an_argument_beats_the_environment_which_beats_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "api-key").write_text("sk_file\n")
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://file", "pid": os.getpid()}))
    by_folder = locate(data=tmp_path)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path))
    monkeypatch.setenv("DRUMLINE_URL", "http://env")
    monkeypatch.setenv("DRUMLINE_API_KEY", "sk_env")
    by_environment = locate()
    by_argument = locate(url="http://arg", api_key="sk_arg", data=tmp_path / "other")

    assert (by_folder.url, by_folder.api_key, by_folder.is_sure) == ("http://file", "sk_file", False)
    assert (by_environment.url, by_environment.api_key, by_environment.is_sure) == ("http://env", "sk_env", True)
    assert by_environment.data == tmp_path
    assert (by_argument.url, by_argument.api_key, by_argument.data) == ("http://arg", "sk_arg", tmp_path / "other")


def test_a_note_of_a_dead_server_is_passed_over(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://gone", "pid": ended.pid}))

    assert locate(data=tmp_path).url is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1, "pid": 2}'])
def test_a_broken_note_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)

    assert locate(data=tmp_path).url is None


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        locate(url="localhost:8080")

    assert caught.value.field == "url"


def test_named_backends_are_used_without_a_server_between(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DRUMLINE_URL", raising=False)
    monkeypatch.setenv("DRUMLINE_STORE_URL", "postgresql://db/drumline")
    monkeypatch.setenv("DRUMLINE_QUEUE_URL", "redis://queue")

    by_environment = locate(data=tmp_path)
    by_argument = locate(data=tmp_path, direct=Direct(store="postgresql://other"))
    by_url = locate(data=tmp_path, url="http://server")

    assert by_environment.direct == Direct(store="postgresql://db/drumline", queue="redis://queue")
    assert by_argument.direct == Direct(store="postgresql://other")
    assert (by_argument.url, by_url.direct) == (None, None)
    with pytest.raises(Invalid, match="together"):
        locate(url="http://server", direct=Direct(store="postgresql://db"))


def test_a_forked_child_does_not_use_its_parents_connection() -> None:
    app = Drumline("forked")
    app.use(HttpTransport("http://127.0.0.1:9"))

    child = os.fork()
    if child == 0:
        os._exit(0 if app.client_at_hand is None else 1)
    _, status = os.waitpid(child, 0)

    assert app.client_at_hand is not None
    assert os.waitstatus_to_exitcode(status) == 0
