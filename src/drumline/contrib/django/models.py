"""A model without a table: the entry in the admin that links to Drumline's web interface."""

from django.db import models


class Interface(models.Model):  # type: ignore[misc]  # Django has no types
    """The web interface, as the admin lists it."""

    class Meta:
        """No table; those who may view it see the page."""

        managed = False
        default_permissions = ("view",)
        verbose_name = "interface"
        verbose_name_plural = "interface"

    def __str__(self) -> str:
        return "interface"
