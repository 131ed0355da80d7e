"""The part of the store that keeps views of lists, by tenant, page, owner and name."""

from typing import Protocol

from drumline.core.saved_view import SavedView, ViewPage


class SavedViews(Protocol):
    """Views that people keep."""

    async def save_view(self, view: SavedView, *, most: int) -> tuple[SavedView, bool]:
        """Keep a view in place of the one of its owner, page and name; return it, and whether it is new.

        A new one is refused with `Conflict` if its owner has `most` already.
        """
        ...

    async def list_views(self, *, tenant: str, owner: str, page: ViewPage | None = None) -> list[SavedView]:
        """Return the views of an owner and those that others of the tenant share, by page, name and owner."""
        ...

    async def delete_view(self, page: ViewPage, name: str, *, tenant: str, owner: str) -> SavedView | None:
        """Forget a view and return it; None if there was none."""
        ...
