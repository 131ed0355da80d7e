"""The apps behind the backends, by alias: what `drumline worker drumline.contrib.django.served:default` serves.

Django has to be set up before this is imported.
"""

from typing import Any

from drumline.contrib.django.backend import DrumlineBackend
from drumline.contrib.django.framework import backends


def __getattr__(alias: str) -> Any:
    known = backends()
    if alias not in known.settings or not isinstance(known[alias], DrumlineBackend):
        raise AttributeError(alias)
    return known[alias].app
