"""Views of lists that people keep."""

import asyncio
from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict
from drumline.core.saved_view import SavedView, ViewPage
from drumline.ports.store import Store


def view(name: str = "late", **fields: Any) -> SavedView:
    values = {"tenant": "acme", "owner": "ada", "page": ViewPage.TASKS, "filter": "status:failed", **fields}
    return SavedView(name=name, **values)


async def names(store: Store, owner: str, tenant: str = "acme", page: ViewPage | None = None) -> list[str]:
    return [each.name for each in await store.saved_views.list_views(tenant=tenant, owner=owner, page=page)]


async def test_a_view_is_kept_and_replaced_by_its_name(store: Store, clock: ManualClock) -> None:
    began = clock.now()
    first = await store.saved_views.save_view(view(columns=("Name", "Error")), most=9)
    clock.advance(5)
    second = await store.saved_views.save_view(view(filter="name:x*", is_shared=True), most=9)

    assert first == (view(columns=("Name", "Error"), created_at=began, updated_at=began), True)
    assert second == (view(filter="name:x*", is_shared=True, created_at=began, updated_at=clock.now()), False)
    assert await store.saved_views.list_views(tenant="acme", owner="ada") == [second[0]]


async def test_others_see_what_is_shared_within_the_tenant(store: Store) -> None:
    await store.saved_views.save_view(view("own"), most=9)
    await store.saved_views.save_view(view("shared", is_shared=True), most=9)
    await store.saved_views.save_view(view("jobs", page=ViewPage.JOBS, is_shared=True), most=9)

    assert await names(store, "ada") == ["jobs", "own", "shared"]
    assert await names(store, "bo") == ["jobs", "shared"]
    assert await names(store, "bo", page=ViewPage.TASKS) == ["shared"]
    assert await names(store, "ada", tenant="other") == []


async def test_a_view_is_deleted_for_its_owner_only(store: Store) -> None:
    kept, _ = await store.saved_views.save_view(view(), most=9)

    assert await store.saved_views.delete_view(ViewPage.TASKS, "late", tenant="acme", owner="bo") is None
    assert await store.saved_views.delete_view(ViewPage.JOBS, "late", tenant="acme", owner="ada") is None
    assert await store.saved_views.delete_view(ViewPage.TASKS, "late", tenant="other", owner="ada") is None
    assert await store.saved_views.delete_view(ViewPage.TASKS, "late", tenant="acme", owner="ada") == kept
    assert await names(store, "ada") == []


async def test_an_owner_has_so_many_and_no_more(store: Store) -> None:
    for name in ("a", "b"):
        await store.saved_views.save_view(view(name), most=2)

    with pytest.raises(Conflict, match="has 2 views already"):
        await store.saved_views.save_view(view("c"), most=2)
    await store.saved_views.save_view(view("b", filter=""), most=2)
    await store.saved_views.save_view(view("c", owner="bo"), most=2)
    assert await names(store, "ada") == ["a", "b"]


async def test_many_who_save_one_view_at_once_keep_one(store: Store) -> None:
    saved = await asyncio.gather(*(store.saved_views.save_view(view(filter=f"name:{n}"), most=9) for n in range(8)))

    (kept,) = await store.saved_views.list_views(tenant="acme", owner="ada")
    assert kept.filter in {each.filter for each, _ in saved}
