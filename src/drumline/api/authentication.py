"""Authentication: which caller a request comes from, for which tenant it acts, and whether its rate limit allows it.

A key that was accepted a moment ago has a pass. Others are compared with the keys that the server was started with,
then looked up in memory, then in the store. A text whose checksum is wrong cannot be a key and is refused without a
lookup. A request without a key may come from a browser that is signed in: see `browser_sessions.py`.
"""

from functools import lru_cache
from math import ceil, inf
from typing import Final

import msgspec
from starlette.types import Scope

from drumline.aio.caching import FRESH_SECONDS
from drumline.api.addresses import Addresses
from drumline.api.anonymous import AnonymousRateLimiter
from drumline.api.browser_sessions import BrowserSessions
from drumline.api.configured_keys import FIRST, ConfiguredKeys, presented
from drumline.api.lockout import Lockout
from drumline.api.origins import Origins
from drumline.api.problems import Headers
from drumline.core.access import EVERY_TENANT, Caller
from drumline.core.api_key import digest_of, is_mistyped
from drumline.core.clock import Clock
from drumline.core.errors import DrumlineError, Forbidden, NotFound, RateLimited, Unauthorized
from drumline.core.rate import Rate
from drumline.core.sign_in import SignIn
from drumline.core.tenant import check_tenant
from drumline.engine.access import Access
from drumline.engine.identities import CheckedKey, Identity
from drumline.engine.limits import ALWAYS_TOLD
from drumline.ports.limiter import Taken

CREDENTIAL: Final = "drumline.credential"
"""Where a request keeps what may expire while it is served: the digest of its key, if that is in the store, or the
sign-in."""
RATE_HEADERS: Final = "drumline.rate_headers"
"""Where a request keeps the headers that tell how many requests its key has left."""

MOST_PASSES: Final = 10_000

NO_KEY: Final = "send your API key as the header X-API-Key or Authorization: Bearer"
NOT_VALID: Final = "the API key is not valid"
MISTYPED: Final = "the API key is mistyped: its checksum does not fit"


class Authentication:
    """Identifies callers by API key or by the session of a browser."""

    def __init__(self, ring: ConfiguredKeys, access: Access, *, clock: Clock) -> None:
        self._ring = ring
        self._access = access
        self._clock = clock
        self._first = msgspec.structs.replace(FIRST, rate=access.policy.first_rate)
        self._lockout = Lockout(clock)
        self._anonymous = AnonymousRateLimiter(access.policy.anonymous_rate, clock)
        self.addresses = Addresses(access.policy.proxies)
        origins = Origins(self.addresses, access.sign_ins.policy.public_url)
        self.browser_sessions = BrowserSessions(access.sign_ins, origins, clock=clock)

    async def authenticate(self, scope: Scope) -> Caller:
        """Return the caller of a request, or raise why it is refused."""
        key, tenant = presented(scope["headers"])
        if key is None:
            return await self._authenticate_signed_in(scope, tenant)
        now = self._clock.monotonic()
        known = self._access.identities.passes.get(key)
        if known is None or now >= known.until:
            known = await self._recognise(key, scope, now)
        known.uses[0] += 1
        if known.digest is not None:
            scope[CREDENTIAL] = known.digest
        if known.turns is not None and not known.turns.take_unreported(now):
            await self._count(known.caller, scope)
        if known.caller.shared is not None:
            await self._count_shared(known.caller, known.caller.shared)
        return known.caller if tenant is None else await self._acting_for(known.caller, tenant)

    async def identify(self, scope: Scope) -> Caller | None:
        """Return the caller of a request to an open path; None without a valid key or sign-in."""
        key, _ = presented(scope["headers"])
        try:
            if key is not None:
                return (await self._recognise(key, scope, self._clock.monotonic())).caller
            sign_in = self.browser_sessions.find(scope)
            if sign_in is None:
                return None
            caller = await self._signed_in(sign_in)
        except DrumlineError:
            return None
        scope[CREDENTIAL] = sign_in
        return caller

    async def check_key(self, key: str, scope: Scope) -> tuple[Caller, bytes, bool]:
        """Return the caller of a key that signs in, its digest, and whether the server was started with it."""
        shown = key.encode()
        known = await self._recognise(shown, scope, self._clock.monotonic())
        known.uses[0] += 1
        await self._count(known.caller, scope)
        return known.caller, digest_of(shown), known.digest is None

    def limit_anonymous(self, scope: Scope) -> None:
        """Count a request without valid credentials against the limit of its address, or raise `RateLimited`."""
        self._anonymous.take(self.addresses.of(scope))

    def check_lockout(self, scope: Scope) -> None:
        """Raise `RateLimited` for an address that sent many wrong credentials."""
        self._lockout.check(self.addresses.of(scope))

    def note_failure(self, scope: Scope, what: str) -> None:
        """Note that an address sent a wrong credential."""
        self._lockout.failed(self.addresses.of(scope), digest_of(what.encode()))

    async def recheck(self, scope: Scope) -> None:
        """Raise `Unauthorized` if the key or sign-in of a request that took long is no longer valid."""
        held = scope.get(CREDENTIAL)
        if isinstance(held, SignIn):
            await self._signed_in(held)
        elif held is not None:
            await self._good(held)

    async def _authenticate_signed_in(self, scope: Scope, tenant: bytes | None) -> Caller:
        """Return the caller that is signed in at a browser, for a request from a page of ours."""
        sign_in = self.browser_sessions.find(scope)
        if sign_in is None:
            raise Unauthorized(NO_KEY)
        caller = await self._signed_in(sign_in)
        self.browser_sessions.check_page(scope, sign_in)
        scope[CREDENTIAL] = sign_in
        self.browser_sessions.renew(scope, sign_in)
        await self._count(caller, scope)
        if caller.shared is not None:
            await self._count_shared(caller, caller.shared)
        return caller if tenant is None else await self._acting_for(caller, tenant)

    async def _signed_in(self, sign_in: SignIn) -> Caller:
        """Return who is signed in, or raise `Unauthorized` if they are not any more, or their key is not good."""
        sign_ins = self._access.sign_ins
        await sign_ins.check(sign_in)
        if sign_in.proof is not None:
            if not self._ring.vouches(sign_in.proof, sign_ins.proof_of):
                raise Unauthorized(NOT_VALID)
            return self._first
        if sign_in.digest is None:
            return sign_in.caller(sign_ins.policy.rate)
        identity = await self._good(sign_in.digest)
        self._access.identities.uses_of(identity.key.id)[0] += 1
        return identity.caller

    async def _good(self, digest: bytes) -> Identity:
        """Return whose key it is, or raise `Unauthorized` if it is no longer valid."""
        identity = await self._identity(digest)
        reason = NOT_VALID if identity is None else identity.key.refusal(self._clock.now())
        if identity is None or reason is not None:
            raise Unauthorized(reason or NOT_VALID)
        return identity

    async def _recognise(self, key: bytes, scope: Scope, now: float) -> CheckedKey:
        """Return the caller of a key, kept as a pass for its next requests, or raise why the key is refused."""
        digest = digest_of(key)
        if self._ring.has(digest):
            known = CheckedKey(self._first, self._until(digest, scope))
        else:
            known = await self._holder(key, digest, scope)
        rate = known.caller.rate
        known.turns = None if rate is None else self._access.limiter.turns(known.caller.id, rate)
        passes = self._access.identities.passes
        if known.until > now:
            if len(passes) >= MOST_PASSES:
                passes.clear()
            passes[key] = known
        return known

    def _until(self, digest: bytes, scope: Scope) -> float:
        """Return until when a configured key has a pass: none if it is weak enough to be guessed.

        So an address that is locked out learns nothing from a right guess, unless it sent the key before.
        """
        if not self._ring.is_guessable(digest):
            return inf
        address = self.addresses.of(scope)
        if not self._lockout.is_good(address):
            self._lockout.check(address)
            self._lockout.note_good(address)
        return 0.0

    async def _holder(self, key: bytes, digest: bytes, scope: Scope) -> CheckedKey:
        """Return the caller of a key of the store, with how long the answer may be kept."""
        identities = self._access.identities
        memory = identities.recall(digest)
        identity = memory.value if memory is not None and memory.value is not None else None
        if identity is None:
            identity = await self._found(key, digest, scope)
        if not identity.is_good and (reason := identity.key.refusal(self._clock.now())) is not None:
            raise Unauthorized(reason)
        # One that expires is looked at each time: no pass may outlive it.
        is_lasting = memory is not None and identity.is_good
        until = memory.asked_at + FRESH_SECONDS if memory is not None and is_lasting else 0.0
        return CheckedKey(identity.caller, until, digest, identities.uses_of(identity.key.id))

    async def _found(self, key: bytes, digest: bytes, scope: Scope) -> Identity:
        """Look up a key that is not cached as valid; an address that sends many wrong ones is locked out."""
        address = self.addresses.of(scope)
        if not self._lockout.is_wrong(digest):
            self._lockout.check(address)
        is_wrong = is_mistyped(key)
        identity = None if is_wrong else await self._identity(digest)
        if identity is None:
            self._lockout.failed(address, digest)
            raise Unauthorized(MISTYPED if is_wrong else NOT_VALID)
        return identity

    async def _identity(self, digest: bytes) -> Identity | None:
        memory = self._access.identities.recall(digest)
        return await self._access.identities.find(digest) if memory is None else memory.value

    async def _count(self, caller: Caller, scope: Scope) -> None:
        """Count a request against the limit of its key, or raise `RateLimited`."""
        rate = caller.rate
        if rate is None:
            return
        limiter = self._access.limiter
        taken = limiter.take_now(caller.id, rate) or await limiter.take(caller.id, rate)
        if rate.requests <= ALWAYS_TOLD or taken.remaining * 10 < rate.requests:
            scope[RATE_HEADERS] = rate_headers(rate, taken)
        if not taken.is_allowed:
            raise _rate_limited(rate, taken)

    async def _count_shared(self, caller: Caller, rate: Rate) -> None:
        """Count a request against the limit that all keys of a tenant share, or raise `RateLimited`."""
        limiter, name = self._access.limiter, f"tenant:{caller.tenant or EVERY_TENANT}:{caller.role}"
        taken = limiter.take_now(name, rate) or await limiter.take(name, rate)
        if not taken.is_allowed:
            raise _rate_limited(rate, taken, "the keys that this tenant made may together ask")

    async def _acting_for(self, caller: Caller, header: bytes) -> Caller:
        """Return the caller as one of the tenant that it names, which must be its own unless it is for every tenant."""
        tenant = check_tenant(header.decode("latin-1"), field="X-Tenant")
        if caller.tenant is None and await self._access.tenants.find(tenant) is None:
            raise NotFound(f"there is no tenant {tenant}", field="X-Tenant")
        if caller.tenant not in {None, tenant}:
            raise Forbidden("this key is for another tenant", field="X-Tenant")
        return caller.acting_for(tenant)


def rate_headers(rate: Rate, taken: Taken) -> Headers:
    """Return what tells a client how often it may ask, and how often it still may right now."""
    return (_policy_header(rate), (b"ratelimit", b'"key";r=%d;t=%d' % (taken.remaining, ceil(taken.seconds))))


def _rate_limited(rate: Rate, taken: Taken, whose: str = "this key may ask") -> RateLimited:
    allowed = f"{whose} {rate.requests} times in {rate.seconds:g} seconds"
    return RateLimited(f"{allowed}; try again in {max(ceil(taken.seconds), 1)} s", retry_after=taken.seconds)


@lru_cache(maxsize=1024)
def _policy_header(rate: Rate) -> tuple[bytes, bytes]:
    return b"ratelimit-policy", b'"key";q=%d;w=%d' % (rate.requests, ceil(rate.seconds))
