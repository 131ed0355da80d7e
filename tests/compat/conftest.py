"""An app with Celery's interface on a data folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline.compat.celery import Celery
from drumline.compat.celery import state as current


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Celery]:
    before = current.apps()
    app = Celery("shop", drumline_data=str(tmp_path / "data"))
    yield app
    app.close()
    for known in current.apps():
        if known not in before:
            current.forget(known)
