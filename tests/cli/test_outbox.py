"""Outboxes by the command line."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from drumline import Drumline

app = Drumline("shop", url="http://127.0.0.1:1")


@app.task
def charge(order: int) -> int:
    return order


def drumline(*words: str, data: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "DRUMLINE_DATA": str(data), **variables}
    command = [sys.executable, "-m", "drumline", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


def test_an_outbox_is_made_relayed_and_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    sqlite3.connect(path).close()
    url = f"sqlite:///{path}"

    refused = drumline("relay", url, "--once", data=tmp_path)
    assert refused.returncode != 0
    assert "has no outbox: run drumline outbox install" in refused.stderr

    made = drumline("outbox", "install", "env:SHOP_URL", data=tmp_path, SHOP_URL=url)
    assert made.returncode == 0, made.stderr
    connection = sqlite3.connect(path)
    with connection:
        good = charge.submit(7, tx=connection)
        bad = charge.submit(8, tx=connection)
        connection.execute("UPDATE drumline_outbox SET request = '[]' WHERE id = ?", (bad.id,))
    connection.close()
    assert json.loads(drumline("outbox", "show", url, "--json", data=tmp_path).stdout)["waiting"] == 2

    relayed = drumline("relay", url, "--once", data=tmp_path)
    assert relayed.returncode == 0, relayed.stderr

    shown = drumline("outbox", "show", url, data=tmp_path).stdout
    assert "0 waiting, 1 set aside" in shown
    assert bad.id in shown
    store = sqlite3.connect(tmp_path / "drumline.db")
    assert [row[0] for row in store.execute("SELECT id FROM task")] == [good.id]
    store.close()
    assert "1 tasks wait again" in drumline("outbox", "retry", url, data=tmp_path).stderr


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    refused = drumline("outbox", "install", "mysql://x", data=tmp_path)

    assert refused.returncode != 0
    assert "url: must start with postgresql:// or sqlite:///" in refused.stderr
