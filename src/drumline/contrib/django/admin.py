"""A page of the admin that names the tasks and links to Drumline's web interface."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from drumline.contrib.django.backend import DrumlineBackend
from drumline.contrib.django.framework import backends
from drumline.contrib.django.models import Interface


@admin.register(Interface)
class InterfaceAdmin(admin.ModelAdmin):  # type: ignore[misc]  # Django has no types
    """Shows the page in place of a list."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: there is nothing to add."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: there is nothing to change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: there is nothing to delete."""
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the tasks of each backend, with the link to its interface."""
        known = backends()
        shown = [
            {"alias": alias, "interface": known[alias].interface, "tasks": sorted(known[alias].app.registry.names)}
            for alias in known.settings
            if isinstance(known[alias], DrumlineBackend)
        ]
        context = {**self.admin_site.each_context(request), "title": "Drumline", "backends": shown}
        return TemplateResponse(request, "drumline/interface.html", {**context, **(extra_context or {})})
