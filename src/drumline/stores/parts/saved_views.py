"""Views of lists that people keep."""

from typing import Any, Final

from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict
from drumline.core.saved_view import SavedView, ViewPage
from drumline.stores.driver import Line, Part, Transaction

MOST_LISTED: Final = 2000
"""Views that a list has: those of its owner and the shared ones."""


class SavedViews(Part):
    """`ports.saved_views.SavedViews`."""

    async def save_view(self, view: SavedView, *, most: int) -> tuple[SavedView, bool]:
        """Keep a view in place of the one of its owner, page and name; return it, and whether it is new."""
        place = {"tenant": view.tenant, "owner": view.owner, "page": view.page, "name": view.name}

        async def act(transaction: Transaction) -> tuple[SavedView, bool]:
            is_new = not await transaction.fetch("find_view", **place)
            ((others,),) = await transaction.fetch("count_views", **place)
            if is_new and others >= most:
                raise Conflict(f"{view.owner} has {most} views already; delete one first")
            (row,) = await transaction.fetch(
                "save_view",
                **place,
                is_shared=view.is_shared,
                filter=view.filter,
                columns=encode(view.columns).decode(),
                now=self._now(),
            )
            return _view(row), is_new

        return await self._database.transact(Line.REQUEST, act, within=view.tenant)

    async def list_views(self, *, tenant: str, owner: str, page: ViewPage | None = None) -> list[SavedView]:
        """Return the views of an owner and those that others of the tenant share, by page, name and owner."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "list_views",
            repeat=True,
            within=tenant,
            tenant=tenant,
            owner=owner,
            page=page,
            limit=MOST_LISTED,
        )
        return [_view(row) for row in rows]

    async def delete_view(self, page: ViewPage, name: str, *, tenant: str, owner: str) -> SavedView | None:
        """Forget a view and return it; None if there was none."""

        async def act(transaction: Transaction) -> SavedView | None:
            rows = await transaction.fetch("delete_view", tenant=tenant, page=page, owner=owner, name=name)
            return _view(rows[0]) if rows else None

        return await self._database.transact(Line.REQUEST, act, within=tenant)


def _view(row: Any) -> SavedView:
    tenant, owner, page, name, is_shared, text, columns, created_at, updated_at = row
    return SavedView(
        tenant=tenant, owner=owner, page=ViewPage(page), name=name, is_shared=bool(is_shared), filter=text,
        columns=decode(columns, tuple[str, ...]), created_at=created_at, updated_at=updated_at,
    )  # fmt: skip
