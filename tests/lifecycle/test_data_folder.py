"""The first key is made once, and clients find the server that is there."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drumline.core.errors import Invalid
from drumline.lifecycle.data_folder import announced, first_key, make_data_folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "data"
    make_data_folder(folder)
    return folder


def test_the_folder_and_the_key_are_for_their_owner_only(data: Path) -> None:
    key = first_key(data)

    assert key.startswith("sk_")
    assert len(key) > 40
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "api-key").stat().st_mode) == 0o600


def test_all_who_start_at_once_get_the_same_key_and_leave_nothing_else(data: Path) -> None:
    with ThreadPoolExecutor(16) as starters:
        keys = set(starters.map(first_key, [data] * 64))

    assert len(keys) == 1
    assert [file.name for file in data.iterdir()] == ["api-key"]


def test_an_empty_key_lets_nobody_in(data: Path) -> None:
    (data / "api-key").write_text("\n")

    with pytest.raises(Invalid, match="remove it to get a new key"):
        first_key(data)


def test_a_server_is_announced_while_it_runs(data: Path) -> None:
    with announced(data, "http://127.0.0.1:1") as is_found:
        note = json.loads((data / "server.json").read_text())

    assert is_found
    assert note == {"url": "http://127.0.0.1:1", "pid": os.getpid()}
    assert not (data / "server.json").exists()


def test_the_first_of_several_servers_stays_the_one_that_is_found(data: Path) -> None:
    with announced(data, "http://127.0.0.1:1"):
        with announced(data, "http://127.0.0.1:2") as is_found:
            pass
        note = json.loads((data / "server.json").read_text())

    assert not is_found
    assert note["url"] == "http://127.0.0.1:1"


def test_a_note_that_a_killed_server_left_is_replaced(data: Path) -> None:
    (data / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": os.getpid()}))

    with announced(data, "http://127.0.0.1:1") as is_found:
        note = json.loads((data / "server.json").read_text())

    assert is_found
    assert note["url"] == "http://127.0.0.1:1"
