"""Sign-ins: made, read back from browsers, and ended before their time on every server."""

import hmac
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from drumline.aio.caching import CachedLookup
from drumline.core.clock import Clock, Instant
from drumline.core.errors import Unauthorized
from drumline.core.provider import BY_KEY, Grant
from drumline.core.seal import Seal
from drumline.core.sign_in import (
    EVERYBODY,
    SignIn,
    mark_of_sign_in,
    mark_of_state,
    mark_of_user,
)
from drumline.engine.options import SignInOptions
from drumline.ports.sign_ins import SignInMark
from drumline.ports.store import Store

OVER: Final = "you were signed in for as long as that lasts: sign in again"
SIGNED_OUT: Final = "you have signed out: sign in again"
NOT_OURS: Final = "what the browser keeps of your sign-in is not valid: sign in again"
STATE_MS: Final = 600_000
"""How long a user may take at the provider."""
RENEW_SHARE: Final = 60
"""A sign-in is written anew after this part of the idle time: often enough, and not in every answer."""

_SIGN_IN: Final = "sign-in"
_CSRF: Final = "csrf"
_PROOF: Final = "first key"


class Seen(NamedTuple):
    """What has to be asked about a sign-in: which it is, whose, and since when."""

    id: str
    user: str
    created_at: Instant


class SignInService:
    """Sign-ins. They are in no table; what ended them early is, and is known everywhere within two seconds."""

    def __init__(self, store: Store, *, clock: Clock, options: SignInOptions) -> None:
        self.policy = options.policy
        self.seal = Seal(options.secret or secrets.token_bytes(32))
        self._store = store
        self._clock = clock
        self._ended: CachedLookup[Seen, Instant] = CachedLookup(self._find, name="sign-ins", clock=clock)

    async def by_key(self, *, id: str, name: str, digest: bytes, is_first: bool, is_lasting: bool) -> SignIn:
        """Sign in the holder of an API key."""
        made = await self._made(f"{BY_KEY}:{id}", name, is_lasting=is_lasting)
        if is_first:  # it may be a word that the operator chose, whose digest could be guessed
            return msgspec.structs.replace(made, proof=self.proof_of(digest))
        return msgspec.structs.replace(made, digest=digest)

    async def by_provider(self, user: str, name: str, grant: Grant) -> SignIn:
        """Sign in a user that a provider has authenticated."""
        made = await self._made(user, name, is_lasting=True)
        return msgspec.structs.replace(made, role=grant.role, tenant=grant.tenant)

    def proof_of(self, digest: bytes) -> str:
        """Return what shows that a sign-in was made by the key of this digest, and tells nothing about it."""
        return self.seal.derive(_PROOF, digest)

    def write(self, sign_in: SignIn) -> str:
        """Return a sign-in as a browser keeps it."""
        return self.seal.seal(_SIGN_IN, sign_in)

    def read(self, text: str) -> SignIn:
        """Return a sign-in that a browser kept, or raise `Unauthorized`."""
        sign_in = self.seal.open(_SIGN_IN, text, SignIn)
        if sign_in is None:
            raise Unauthorized(NOT_OURS)
        if sign_in.is_over(self._clock.now(), self.policy.idle_ms):
            raise Unauthorized(OVER)
        return sign_in

    async def check(self, sign_in: SignIn) -> None:
        """Raise `Unauthorized` if a sign-in has ended, by itself or by a sign-out."""
        if sign_in.is_over(self._clock.now(), self.policy.idle_ms):
            raise Unauthorized(OVER)
        seen = Seen(sign_in.id, sign_in.user, sign_in.created_at)
        memory = self._ended.recall(seen)
        ended_at = await self._ended.get(seen) if memory is None else memory.value
        if ended_at is not None:
            raise Unauthorized(SIGNED_OUT)

    def renewed(self, sign_in: SignIn) -> SignIn | None:
        """Return a sign-in that was just used as it is to be kept from here on; None while that is not worth it."""
        now = self._clock.now()
        if now - sign_in.seen_at < max(self.policy.idle_ms // RENEW_SHARE, 1000):
            return None
        return msgspec.structs.replace(sign_in, seen_at=now)

    def token_of(self, sign_in: SignIn) -> str:
        """Return what a page must send along to change anything: no other site can know it."""
        return self.seal.derive(_CSRF, sign_in.id)

    def is_token(self, sign_in: SignIn, token: bytes) -> bool:
        """Tell whether it is that."""
        return hmac.compare_digest(token, self.token_of(sign_in).encode())

    async def end(self, sign_in: SignIn) -> None:
        """End one sign-in, on every server."""
        await self._store.sign_ins.leave_marks([SignInMark(mark_of_sign_in(sign_in.id), self.policy.lifetime_ms)])
        self._ended.clear()

    async def end_all(self, user: str) -> None:
        """End every current sign-in of a user, or of all users with `*`; later sign-ins are not affected."""
        await self._store.sign_ins.leave_marks([SignInMark(mark_of_user(user), self.policy.lifetime_ms)])
        self._ended.clear()

    async def use_state(self, state: str) -> bool:
        """Tell whether a way to a provider and back is gone for the first time."""
        (is_new,) = await self._store.sign_ins.leave_marks([SignInMark(mark_of_state(state), 2 * STATE_MS)])
        return is_new

    async def close(self) -> None:
        """Ask nothing more."""
        await self._ended.close()

    async def _made(self, user: str, name: str, *, is_lasting: bool) -> SignIn:
        now = self._clock.now()
        return SignIn(
            id=secrets.token_urlsafe(16),
            user=user,
            name=name,
            created_at=await self._store.queries.now(),
            seen_at=now,
            ends_at=Instant(now + self.policy.lifetime_ms),
            is_lasting=is_lasting,
        )

    async def _find(self, seen: list[Seen]) -> Sequence[Instant | None]:
        everybody = mark_of_user(EVERYBODY)
        names = [mark for each in seen for mark in (mark_of_sign_in(each.id), mark_of_user(each.user))]
        unique = list(dict.fromkeys([*names, everybody]))
        left = dict(zip(unique, await self._store.sign_ins.find_marks(unique), strict=True))
        return [self._ended_at(each, left, everybody) for each in seen]

    @staticmethod
    def _ended_at(seen: Seen, left: dict[str, Instant | None], everybody: str) -> Instant | None:
        own = left[mark_of_sign_in(seen.id)]
        if own is not None:
            return own
        since = [left[mark_of_user(seen.user)], left[everybody]]
        return next((at for at in since if at is not None and at >= seen.created_at), None)
