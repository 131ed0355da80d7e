"""Settings: one frozen struct, read once, handed down.

`fields.py` says what can be set, `sources.py` reads it: file < environment < flags. Only the command line calls
`load_settings`; no other module reads the environment.
"""

from drumline.settings.fields import LogSettings, Secret, Settings, SmtpSettings, WorkerSettings
from drumline.settings.sources import load_settings

__all__ = ["LogSettings", "Secret", "Settings", "SmtpSettings", "WorkerSettings", "load_settings"]
