"""The app that Django installs."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class DrumlineConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """Finds the `tasks` modules of installed apps."""

    name = "drumline.contrib.django"
    label = "drumline"
    verbose_name = "Drumline"

    def ready(self) -> None:
        """Import the `tasks` module of every installed app, so that workers know its tasks."""
        autodiscover_modules("tasks")
