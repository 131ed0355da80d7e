"""Saved views: filters and columns of lists under names, one's own and shared ones."""

from typing import Annotated, Any, Final

from msgspec import Struct

from drumline.api.operation import ApiCall, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid, NotFound
from drumline.core.field_schema import about, line, line_schema
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.names import LONGEST_NAME as LONGEST_OWNER
from drumline.core.names import check_text
from drumline.core.saved_view import (
    LONGEST_COLUMN,
    LONGEST_NAME,
    MOST_COLUMNS,
    MOST_VIEWS,
    VIEW_NAME_PATTERN,
    SavedView,
    ViewPage,
    check_view,
    check_view_name,
)
from drumline.core.views import Moment

_VIEWS: Final = "/api/v1/views"
_VIEW: Final = _VIEWS + "/{page}/{name}"


class ViewRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a view shows. A shared one is seen by every key of the tenant; to share needs `tasks:control`."""

    filter: Annotated[str | None, line(LONGEST_FILTER, "Terms as `filter` of the list takes them.")] = None
    columns: Annotated[
        tuple[str, ...],
        about(
            "Columns to show, as the web interface names them; none for the usual ones.",
            items=line_schema(LONGEST_COLUMN),
            maxItems=MOST_COLUMNS,
        ),
    ] = ()
    is_shared: Annotated[bool, about("Whether every key of the tenant sees it.")] = False


class ViewBody(Struct, frozen=True, kw_only=True):
    """A saved view."""

    page: ViewPage
    name: Annotated[str, about(maxLength=LONGEST_NAME, pattern=VIEW_NAME_PATTERN)]
    owner: str
    """The name of the key or person that keeps it."""
    is_own: bool
    is_shared: bool
    filter: str
    columns: tuple[str, ...]
    created_at: Moment
    updated_at: Moment


class ViewList(Struct, frozen=True):
    """One's own views, and those that others share, by page and name."""

    items: tuple[ViewBody, ...]
    next_cursor: str | None = None


class ViewsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The list whose views are meant; all if absent."""

    page: ViewPage | None = None


class DeleteViewQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose view is deleted: one's own if absent; a shared one of others needs `tasks:control`."""

    owner: Annotated[str | None, line()] = None


async def list_views(call: ApiCall[None, ViewsQuery]) -> Reply:
    """Return one's own views and the shared ones."""
    views = await call.engine.store.saved_views.list_views(tenant=call.home, owner=call.by.name, page=call.query.page)
    return Reply(encode(ViewList(tuple(_body(call, view) for view in views))))


async def save_view(call: ApiCall[ViewRequest, Any]) -> Reply:
    """Keep a view in place of one's own of the same name, if there is one."""
    if call.body.is_shared:
        call.by.check(Permission.TASKS_CONTROL)
    wanted = SavedView(
        tenant=call.home,
        owner=call.by.name,
        page=_page(call),
        name=call.params["name"],
        filter="" if call.body.filter is None else check_text(call.body.filter, field="filter", longest=LONGEST_FILTER),
        columns=call.body.columns,
        is_shared=call.body.is_shared,
    )
    view, is_new = await call.engine.store.saved_views.save_view(
        check_view(wanted, now=call.engine.clock.now()), most=MOST_VIEWS
    )
    body = _body(call, view)
    call.note(after=body)
    return Reply(encode(body), 201 if is_new else 200)


async def delete_view(call: ApiCall[None, DeleteViewQuery]) -> Reply:
    """Forget a view: one's own, or one that others share."""
    owner = call.by.name
    if call.query.owner is not None:
        owner = check_text(call.query.owner, field="owner", longest=LONGEST_OWNER)
    views, page, name = call.engine.store.saved_views, _page(call), check_view_name(call.params["name"])
    if owner != call.by.name:
        call.by.check(Permission.TASKS_CONTROL)
        seen = await views.list_views(tenant=call.home, owner=call.by.name, page=page)
        if not any((view.owner, view.name) == (owner, name) for view in seen):
            raise NotFound(f"there is no view {name} of {owner}", field="name")
    gone = await views.delete_view(page, name, tenant=call.home, owner=owner)
    if gone is None:
        raise NotFound(f"there is no view {name} of {owner}", field="name")
    call.note(before=_body(call, gone))
    return Reply(b"", 204)


def _page(call: ApiCall[Any, Any]) -> ViewPage:
    try:
        return ViewPage(call.params["page"])
    except ValueError as error:
        raise Invalid(f"is one of {', '.join(ViewPage)}", field="page") from error


def _body(call: ApiCall[Any, Any], view: SavedView) -> ViewBody:
    return ViewBody(
        page=view.page,
        name=view.name,
        owner=view.owner,
        is_own=view.owner == call.by.name,
        is_shared=view.is_shared,
        filter=view.filter,
        columns=view.columns,
        created_at=moment_of(view.created_at),
        updated_at=moment_of(view.updated_at),
    )


OPERATIONS = (
    Operation(
        method="GET", path=_VIEWS, handler=list_views, tag=Tag.VIEWS, summary="List saved views: one's own and shared",
        query=ViewsQuery, answer=ViewList, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="PUT", path=_VIEW, handler=save_view, tag=Tag.VIEWS, summary="Save a view of a list",
        body=ViewRequest, answer=ViewBody, status=200, also=(201,),
        permission=Permission.TASKS_READ, audit_act="view.save", reach=Reach.OWN,
    ),
    Operation(
        method="DELETE", path=_VIEW, handler=delete_view, tag=Tag.VIEWS, summary="Delete a saved view",
        query=DeleteViewQuery, status=204,
        permission=Permission.TASKS_READ, audit_act="view.delete", reach=Reach.OWN,
    ),
)  # fmt: skip
