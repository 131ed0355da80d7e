"""The door: who a request comes from, for whom it acts, and whether it is its turn.

A key that came within the last moment has a pass. Others are looked for on the ring of the server's own keys, then in
memory, then in the store. One that cannot be a key, since its checksum is wrong, is refused without a look anywhere.
Whoever sends no key may be signed in: see `reception.py`.
"""

from functools import lru_cache
from math import ceil, inf
from typing import Final

import msgspec
from starlette.types import Scope

from drumline.aio.caching import FRESH_SECONDS
from drumline.api.addresses import Addresses
from drumline.api.anonymous import AnonymousTurns
from drumline.api.guard import Guard
from drumline.api.keys import FIRST, KeyRing, presented
from drumline.api.origins import Origins
from drumline.api.problems import Headers
from drumline.api.reception import Reception
from drumline.core.access import EVERY_TENANT, Caller
from drumline.core.api_key import digest_of, is_mistyped
from drumline.core.clock import Clock
from drumline.core.errors import DrumlineError, Forbidden, NotFound, RateLimited, Unauthorized
from drumline.core.rate import Rate
from drumline.core.sign_in import SignIn
from drumline.core.tenant import check_tenant
from drumline.engine.access import Access
from drumline.engine.identities import Identity, Pass
from drumline.engine.limits import ALWAYS_TOLD
from drumline.ports.limiter import Taken

HELD: Final = "drumline.held"
"""Where a request keeps what may end while it is served: the digest of its key, if that is one of the store's, or the
sign-in."""
TURNS: Final = "drumline.turns"
"""Where a request keeps the headers that tell how many more its key may make."""

MOST_PASSES: Final = 10_000

NO_KEY: Final = "send your API key as the header X-API-Key or Authorization: Bearer"
NOT_VALID: Final = "the API key is not valid"
MISTYPED: Final = "the API key is mistyped: its checksum does not fit"


class Door:
    """Lets requests in that carry a key."""

    def __init__(self, ring: KeyRing, access: Access, *, clock: Clock) -> None:
        self._ring = ring
        self._access = access
        self._clock = clock
        self._first = msgspec.structs.replace(FIRST, rate=access.policy.first_rate)
        self._guard = Guard(clock)
        self._anonymous = AnonymousTurns(access.policy.anonymous_rate, clock)
        self.addresses = Addresses(access.policy.proxies)
        origins = Origins(self.addresses, access.sign_ins.policy.public_url)
        self.reception = Reception(access.sign_ins, origins, clock=clock)

    async def admit(self, scope: Scope) -> Caller:
        """Return who a request comes from, or raise why it is not let in."""
        key, tenant = presented(scope["headers"])
        if key is None:
            return await self._admit_signed_in(scope, tenant)
        now = self._clock.monotonic()
        known = self._access.identities.passes.get(key)
        if known is None or now >= known.until:
            known = await self._recognise(key, scope, now)
        known.uses[0] += 1
        if known.digest is not None:
            scope[HELD] = known.digest
        if known.turns is not None and not known.turns.take_unreported(now):
            await self._take_turn(known.caller, scope)
        if known.caller.shared is not None:
            await self._take_shared_turn(known.caller, known.caller.shared)
        return known.caller if tenant is None else await self._acting_for(known.caller, tenant)

    async def visitor(self, scope: Scope) -> Caller | None:
        """Return who a request to an open path comes from; nobody if it has no key that is known to be good."""
        key, _ = presented(scope["headers"])
        try:
            if key is not None:
                return (await self._recognise(key, scope, self._clock.monotonic())).caller
            sign_in = self.reception.find(scope)
            if sign_in is None:
                return None
            caller = await self._signed_in(sign_in)
        except DrumlineError:
            return None
        scope[HELD] = sign_in
        return caller

    async def show(self, key: str, scope: Scope) -> tuple[Caller, bytes, bool]:
        """Return whose key somebody signs in with, its digest, and whether the server was started with it."""
        shown = key.encode()
        known = await self._recognise(shown, scope, self._clock.monotonic())
        known.uses[0] += 1
        await self._take_turn(known.caller, scope)
        return known.caller, digest_of(shown), known.digest is None

    def take_anonymous_turn(self, scope: Scope) -> None:
        """Count a request that came with nothing good to its address, or raise `RateLimited`."""
        self._anonymous.take(self.addresses.of(scope))

    def check_guesser(self, scope: Scope) -> None:
        """Raise `RateLimited` for an address that has come with much that was wrong."""
        self._guard.check(self.addresses.of(scope))

    def note_guess(self, scope: Scope, what: str) -> None:
        """Note that an address came with something that was wrong."""
        self._guard.failed(self.addresses.of(scope), digest_of(what.encode()))

    async def check_again(self, scope: Scope) -> None:
        """Raise `Unauthorized` if what a request came in with, which took long, does not open any more."""
        held = scope.get(HELD)
        if isinstance(held, SignIn):
            await self._signed_in(held)
        elif held is not None:
            await self._good(held)

    async def _admit_signed_in(self, scope: Scope, tenant: bytes | None) -> Caller:
        """Let in whoever is signed in at a browser, by a page of ours."""
        sign_in = self.reception.find(scope)
        if sign_in is None:
            raise Unauthorized(NO_KEY)
        caller = await self._signed_in(sign_in)
        self.reception.check_page(scope, sign_in)
        scope[HELD] = sign_in
        self.reception.renew(scope, sign_in)
        await self._take_turn(caller, scope)
        if caller.shared is not None:
            await self._take_shared_turn(caller, caller.shared)
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
        """Return whose key it is, or raise `Unauthorized` if it does not open any more."""
        identity = await self._identity(digest)
        reason = NOT_VALID if identity is None else identity.key.refusal(self._clock.now())
        if identity is None or reason is not None:
            raise Unauthorized(reason or NOT_VALID)
        return identity

    async def _recognise(self, key: bytes, scope: Scope, now: float) -> Pass:
        """Find out who comes with a key, or raise why it does not open; keep the answer for its next requests."""
        digest = digest_of(key)
        if self._ring.has(digest):
            known = Pass(self._first, self._until(digest, scope))
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
        """Return how long a first key has a pass: none if it could be found by trying, which is slowed down.

        So an address that has to wait learns nothing from a right guess; unless it came with the key before.
        """
        if not self._ring.is_guessable(digest):
            return inf
        address = self.addresses.of(scope)
        if not self._guard.is_good(address):
            self._guard.check(address)
            self._guard.note_good(address)
        return 0.0

    async def _holder(self, key: bytes, digest: bytes, scope: Scope) -> Pass:
        """Return who comes with a key of the store, good for as long as that was asked for just now."""
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
        return Pass(identity.caller, until, digest, identities.uses_of(identity.key.id))

    async def _found(self, key: bytes, digest: bytes, scope: Scope) -> Identity:
        """Look for a key that is not known to be good; whoever tries many that are not has to wait."""
        address = self.addresses.of(scope)
        if not self._guard.is_wrong(digest):
            self._guard.check(address)
        is_wrong = is_mistyped(key)
        identity = None if is_wrong else await self._identity(digest)
        if identity is None:
            self._guard.failed(address, digest)
            raise Unauthorized(MISTYPED if is_wrong else NOT_VALID)
        return identity

    async def _identity(self, digest: bytes) -> Identity | None:
        memory = self._access.identities.recall(digest)
        return await self._access.identities.find(digest) if memory is None else memory.value

    async def _take_turn(self, caller: Caller, scope: Scope) -> None:
        """Take a turn of a limited key with word on how many are left, or raise `RateLimited`."""
        rate = caller.rate
        if rate is None:
            return
        limiter = self._access.limiter
        taken = limiter.take_now(caller.id, rate) or await limiter.take(caller.id, rate)
        if rate.requests <= ALWAYS_TOLD or taken.remaining * 10 < rate.requests:
            scope[TURNS] = turns_headers(rate, taken)
        if not taken.is_allowed:
            raise _not_your_turn(rate, taken)

    async def _take_shared_turn(self, caller: Caller, rate: Rate) -> None:
        """Take a turn of all keys together that a tenant made itself: making many keys gives nobody more turns."""
        limiter, name = self._access.limiter, f"tenant:{caller.tenant or EVERY_TENANT}:{caller.role}"
        taken = limiter.take_now(name, rate) or await limiter.take(name, rate)
        if not taken.is_allowed:
            raise _not_your_turn(rate, taken, "the keys that this tenant made may together ask")

    async def _acting_for(self, caller: Caller, header: bytes) -> Caller:
        """Return the caller as one of the tenant that it names, which must be its own unless it is for every tenant."""
        tenant = check_tenant(header.decode("latin-1"), field="X-Tenant")
        if caller.tenant is None and await self._access.tenants.find(tenant) is None:
            raise NotFound(f"there is no tenant {tenant}", field="X-Tenant")
        if caller.tenant not in {None, tenant}:
            raise Forbidden("this key is for another tenant", field="X-Tenant")
        return caller.acting_for(tenant)


def turns_headers(rate: Rate, taken: Taken) -> Headers:
    """Return what tells a client how often it may ask, and how often it still may right now."""
    return (_policy_header(rate), (b"ratelimit", b'"key";r=%d;t=%d' % (taken.remaining, ceil(taken.seconds))))


def _not_your_turn(rate: Rate, taken: Taken, whose: str = "this key may ask") -> RateLimited:
    allowed = f"{whose} {rate.requests} times in {rate.seconds:g} seconds"
    return RateLimited(f"{allowed}; try again in {max(ceil(taken.seconds), 1)} s", retry_after=taken.seconds)


@lru_cache(maxsize=1024)
def _policy_header(rate: Rate) -> tuple[bytes, bytes]:
    return b"ratelimit-policy", b'"key";q=%d;w=%d' % (rate.requests, ceil(rate.seconds))
