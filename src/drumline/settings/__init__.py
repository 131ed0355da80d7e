"""Settings: one frozen struct, handed down.

`fields.py` says what can be set, `leaves.py` how a value is read, `sources.py` from where and which wins. Only the
command line makes `Sources`; no other module reads the environment. What may change while a process runs is `LIVE` in
`leaves.py`; `lifecycle/monitoring.py` takes it over.
"""

from drumline.settings.fields import LogSettings, Secret, Settings, SmtpSettings, WorkerSettings
from drumline.settings.sources import Loaded, Sources, load_settings

__all__ = [
    "Loaded",
    "LogSettings",
    "Secret",
    "Settings",
    "SmtpSettings",
    "Sources",
    "WorkerSettings",
    "load_settings",
]
