"""A site of Django with Drumline as the backend of its tasks."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def site() -> Iterator[Any]:
    """Set Django up, once for this process, and return the backend."""
    django = pytest.importorskip("django")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITE_DATABASE", str(Path(folder) / "site.db"))
        patch.setenv("SITE_DATA", str(Path(folder) / "data"))
        patch.setenv("DJANGO_SETTINGS_MODULE", "tests.contrib.django_site.settings")
        django.setup()
        from django.core.management import call_command
        from django.db import connections

        from drumline.contrib.django.framework import backends

        call_command("migrate", verbosity=0)
        backend = backends()["default"]
        yield backend
        backend.app.close()
        connections.close_all()


@pytest.fixture
def working(site: Any) -> Iterator[Any]:
    """A worker for the site's tasks, in this process."""
    with site.app.running():
        yield site
