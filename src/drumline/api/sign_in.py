"""Signing in at a browser by key, signing out, and sending others away."""

import re
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from msgspec import Meta, Struct

from drumline.api.authentication import CREDENTIAL
from drumline.api.browser_sessions import COOKIES
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import EVERY_TENANT, Caller, Permission, Role
from drumline.core.audit import AuditEntry, Phase
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Conflict, DrumlineError, Invalid
from drumline.core.sign_in import SignIn
from drumline.core.views import Moment

SIGN_IN: Final = "/api/v1/sign-in"
USER_PATTERN: Final = r"\*|[a-z0-9-]{1,32}:[ -~]{1,255}"
REQUEST_ID: Final = "drumline.request_id"

LARGEST_SIGN_IN = 8 * 1024
"""Bytes of a sign-in: it is read before anybody knows who sends it."""


class ProviderBody(Struct, frozen=True):
    """A provider to sign in with."""

    name: str
    label: str
    path: str
    """Where a browser is sent to begin, behind whatever prefix the server has; `?next=` is the page to come back to."""


class SignedInBody(Struct, frozen=True, kw_only=True):
    """Who is signed in at this browser."""

    user: str
    """Who it is: `key:<id>`, or `<provider>:<subject>`."""
    name: str
    role: Role
    tenant: str
    """The tenant whose data they see; `*` for all tenants."""
    provider: str | None
    """The provider that they signed in with; null for a key."""
    token: str
    """What every request must carry as `X-CSRF-Token` that is not a GET."""
    ends_at: Moment


class SignInBody(Struct, frozen=True):
    """How one can sign in, and who is signed in."""

    providers: tuple[ProviderBody, ...]
    signed_in: SignedInBody | None


class SignInRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A key to sign in with."""

    key: Annotated[str, Meta(min_length=1, max_length=1000)]
    remember: bool = True
    """Whether to stay signed in when the browser's window is closed."""


class SignOutRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How far to sign out."""

    everywhere: bool = False
    """Whether at every browser where the same person or key is signed in."""


class SignedOutBody(Struct, frozen=True):
    """What is left to do."""

    url: str | None
    """Where the browser has to go to sign out at the provider, too."""


class RevokeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to sign out."""

    user: Annotated[str, Meta(extra_json_schema={"pattern": f"^(?:{USER_PATTERN})$"})]
    """Who, as `GET /api/v1/sign-in` names them: `key:<id>`, `<provider>:<subject>`; `*` for all users."""


async def look(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell how one can sign in at a browser, and who is signed in at this one."""
    providers = call.engine.access.sign_ins.policy.providers
    offered = tuple(ProviderBody(each.name, each.title, f"{SIGN_IN}/{each.name}") for each in providers)
    sign_in = call.scope.get(CREDENTIAL)
    body = told_of(call, sign_in, call.caller) if isinstance(sign_in, SignIn) and call.caller else None
    return Reply(encode(SignInBody(offered, body)))


async def sign_in(call: ApiCall[SignInRequest, NoQuery]) -> Reply:
    """Exchange a key for a cookie, so that the browser need not keep the key."""
    authentication = call.context.authentication
    authentication.browser_sessions.check_origin(call.scope)
    caller, digest, is_first = await authentication.check_key(call.body.key, call.scope)
    made = await call.engine.access.sign_ins.by_key(
        id=caller.id, name=caller.name, digest=digest, is_first=is_first, is_lasting=call.body.remember
    )
    await noted(call, caller, made)
    cookie = authentication.browser_sessions.keep(call.scope, made)
    return Reply(encode(told_of(call, made, caller)), headers=(cookie,))


async def sign_out(call: ApiCall[SignOutRequest, NoQuery]) -> Reply:
    """Sign out at this browser, or everywhere; every server goes by it within two seconds."""
    made = call.scope.get(CREDENTIAL)
    if not isinstance(made, SignIn):
        raise Conflict("there is no sign-in to end: the request came with a key")
    sign_ins = call.engine.access.sign_ins
    await (sign_ins.end_all(made.user) if call.body.everywhere else sign_ins.end(made))
    call.note(before={"user": made.user, "everywhere": call.body.everywhere})
    sessions = call.context.authentication.browser_sessions
    call.scope.pop(COOKIES, None)
    return Reply(encode(SignedOutBody(await _provider_sign_out_url(call, made))), headers=sessions.forget(call.scope))


async def revoke(call: ApiCall[RevokeRequest, NoQuery]) -> Reply:
    """Sign a user out at every browser, or all users; it takes effect on every server within two seconds."""
    if re.fullmatch(USER_PATTERN, call.body.user) is None:
        raise Invalid("must be key:<id>, <provider>:<subject>, or * for all users", field="user")
    await call.engine.access.sign_ins.end_all(call.body.user)
    call.note(before={"user": call.body.user})
    return Reply(b"", 204)


def told_of(call: ApiCall[Any, Any], made: SignIn, caller: Caller) -> SignedInBody:
    """Return what a page shows of the user that is signed in."""
    return SignedInBody(
        user=made.user,
        name=made.name,
        role=caller.role,
        tenant=caller.tenant or EVERY_TENANT,
        provider=made.provider,
        token=call.engine.access.sign_ins.token_of(made),
        ends_at=moment_of(made.ends_at),
    )


async def noted(call: ApiCall[Any, Any], caller: Caller, made: SignIn) -> None:
    """Write a sign-in into the audit log; if that fails, so does the sign-in."""
    audit = call.engine.access.audit
    asked = await audit.ask(
        AuditEntry(
            id="",
            tenant=caller.home,
            act="sign_in.open",
            phase=Phase.ASKED,
            target=call.scope["path"],
            key=caller.id,
            key_name=caller.name,
            address=call.context.authentication.addresses.of(call.scope),
            request_id=call.scope[REQUEST_ID].decode(),
        )
    )
    await audit.answer(asked, Phase.DONE, after={"user": made.user, "name": made.name, "role": caller.role})


async def _provider_sign_out_url(call: ApiCall[Any, Any], made: SignIn) -> str | None:
    """Return the provider's URL for signing out; None if it has none or cannot be reached."""
    issuer = call.context.issuers.get(made.provider or "")
    if issuer is None:
        return None
    try:
        endpoint = (await issuer.describe()).end_session_endpoint
    except DrumlineError:
        return None
    if endpoint is None:
        return None
    sessions = call.context.authentication.browser_sessions
    given = {
        "client_id": issuer.provider.client_id,
        "post_logout_redirect_uri": f"{sessions.origins.base(call.scope)}/ui/",
    }
    hint = sessions.hint(call.scope)
    if hint is not None:
        given["id_token_hint"] = hint
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(given)}"


OPERATIONS = (
    Operation(
        method="GET", path=SIGN_IN, handler=look, tag=Tag.SIGN_IN,
        summary="Tell how one can sign in, and who is signed in", answer=SignInBody, is_open=True,
    ),
    Operation(
        method="POST", path=SIGN_IN, handler=sign_in, tag=Tag.SIGN_IN, summary="Exchange a key for a cookie",
        largest=lambda _limits: LARGEST_SIGN_IN, body=SignInRequest, answer=SignedInBody, is_open=True,
    ),
    Operation(
        method="POST", path="/api/v1/sign-out", handler=sign_out, tag=Tag.SIGN_IN, summary="Sign out",
        body=SignOutRequest, body_required=False, answer=SignedOutBody,
        permission=None, audit_act="sign_in.close", reach=Reach.OWN,
    ),
    Operation(
        method="POST", path="/api/v1/sign-ins/revoke", handler=revoke, tag=Tag.SIGN_IN,
        summary="Sign a user out everywhere", body=RevokeRequest, status=204,
        permission=Permission.TENANTS_MANAGE, audit_act="sign_in.revoke", reach=Reach.WHOLE,
    ),
)  # fmt: skip
