"""Secrets: set, listed and deleted by people; named by payloads; revealed to the worker that holds the task's lease."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from drumline.aio.threads import off_loop
from drumline.core.codec import decode
from drumline.core.errors import DrumlineError, Fenced, Invalid, NotFound, QuotaExceeded, Unreadable
from drumline.core.lease import Lease
from drumline.core.secret import (
    MOST_SECRETS,
    SealedSecret,
    check_secret_name,
    check_secret_value,
    purpose_of,
)
from drumline.core.secret_references import SecretReference, find_secrets, has_secrets
from drumline.core.subscription import SubscriptionId
from drumline.core.task import DEFAULT_TENANT
from drumline.engine.blobs import Blobs
from drumline.engine.signing import resealed, signing_purpose
from drumline.ports.sealing import Box
from drumline.ports.secrets import PutSecret, Resealed
from drumline.ports.store import Store

ROW: Final = 100
"""What looking for references costs besides the length of a payload, as bytes of JSON."""
AT_ONCE: Final = 200
"""Secrets that are sealed anew in one transaction."""


class PayloadToCheck(NamedTuple):
    """A payload to check for references to secrets, and the field of the request that it is in."""

    payload: bytes
    field: str = "payload"


class Rotated(NamedTuple):
    """What became of values that were sealed with an old key: how many have the new one, and whose key is not here."""

    secrets: int
    signing_secrets: int
    unreadable: tuple[str, ...]


class SecretService:
    """A tenant's secrets. Values are revealed only to the worker that holds the lease of a task."""

    def __init__(self, store: Store, box: Box, blobs: Blobs | None = None) -> None:
        self._store = store
        self._blobs = blobs or Blobs()
        self.box = box

    async def put(self, name: str, value: str, *, tenant: str) -> PutSecret:
        """Set a secret's value; tasks that run from now on get it. Raises `Conflict` if there is no key."""
        check_secret_name(name)
        check_secret_value(value)
        sealed = SealedSecret(
            tenant=tenant, name=name, key_id=self.box.key_id, sealed=self.box.seal(value, purpose_of(tenant, name))
        )
        (found,) = await self._store.secrets.find_secrets([name], tenant=tenant)
        if found is None and await self._store.secrets.count_secrets(tenant) >= MOST_SECRETS:
            raise QuotaExceeded(f"the tenant has {MOST_SECRETS:,} secrets, which is as many as it may have")
        return await self._store.secrets.put_secret(sealed)

    async def delete(self, name: str, *, tenant: str) -> None:
        """Forget a secret, or raise `NotFound`; tasks that refer to it fail when they run."""
        if not await self._store.secrets.delete_secret(check_secret_name(name), tenant=tenant):
            raise NotFound(f"there is no secret {name}", field="name")

    async def check(self, wanted: Iterable[PayloadToCheck], *, tenant: str) -> None:
        """Raise `Invalid` naming the first field of payloads that refers to a secret that there is not."""
        wanted = list(wanted)
        references = await off_loop(
            sum(len(each.payload) for each in wanted),
            lambda: [found for each in wanted for found in references_in(each)],
        )
        error = first_absent(references, await self._absent(references, tenant=tenant))
        if error is not None:
            raise error

    async def check_each(self, payloads: Sequence[bytes], *, tenant: str) -> list[Invalid | None]:
        """Return for each payload what is wrong with the secrets that it refers to, by one look at the store."""
        found = await off_loop(
            sum(map(len, payloads)) + ROW * len(payloads),
            lambda: [_references_or_error(payload) for payload in payloads],
        )
        references = [each for some in found if isinstance(some, list) for each in some]
        absent = await self._absent(references, tenant=tenant)
        return [each if isinstance(each, Invalid) else first_absent(each, absent) for each in found]

    async def reveal(self, lease: Lease, *, tenant: str | None = None) -> Mapping[str, str] | None:
        """Return the values that a leased task's payload refers to; None if it refers to none at all.

        Which those are is read from what was submitted, not asked of the worker. Raises `Fenced` unless the lease is
        current, `NotFound` for a secret that was deleted meanwhile, `Unreadable` for one whose key is not here.
        """
        (view,) = await self._store.queries.get([lease.task], tenant=tenant)
        (lease_state,) = await self._store.lease_states([lease])
        if view is None or view.payload is None or lease_state is None:
            raise Fenced(f"another attempt owns task {lease.task} now", field="task")
        payload = bytes(await self._blobs.read(view.payload))
        if not has_secrets(payload):
            return None
        references = await off_loop(len(payload), lambda: references_in(PayloadToCheck(payload)))
        names = sorted({reference.name for reference in references})
        found = await self._store.secrets.find_secrets(names, tenant=view.lane.tenant) if names else []
        return {name: self._opened(name, secret) for name, secret in zip(names, found, strict=True)}

    async def rotate(self) -> Rotated:
        """Seal anew, with the first key, all that is sealed with another, and signing secrets that are not sealed.

        It may be interrupted and repeated: what is done stays done. A value that is set meanwhile is kept.
        """
        secrets, unreadable = await self._reseal_secrets()
        signing, more = await self._reseal_signing()
        return Rotated(secrets, signing, (*unreadable, *more))

    async def _reseal_secrets(self) -> tuple[int, list[str]]:
        count, unreadable, after = 0, [], None
        while found := await self._store.secrets.sealed_otherwise(self.box.key_id, limit=AT_ONCE, after=after):
            after = (found[-1].tenant, found[-1].name)
            changes = []
            for old in found:
                try:
                    changes.append(Resealed(old, self._resealed(old)))
                except Unreadable:
                    unreadable.append(f"{old.tenant}/{old.name}")
            count += await self._store.secrets.reseal_secrets(changes)
        return count, unreadable

    async def _reseal_signing(self) -> tuple[int, list[str]]:
        count, unreadable = 0, []
        subscriptions = [(each.tenant, each.id) for each in await self._store.subscriptions.subscriptions()]
        for tenant, id_ in [*subscriptions, *[(tenant, None) for tenant in await self._tenants()]]:
            try:
                count += await self._reseal_one(tenant, id_)
            except Unreadable:
                unreadable.append(f"{tenant}, webhooks of {id_ or 'its tasks'}")
        return count, unreadable

    async def _reseal_one(self, tenant: str, subscription: SubscriptionId | None) -> bool:
        old = await self._store.subscriptions.secrets(subscription, tenant=tenant)
        new = resealed(self.box, old or (), signing_purpose(tenant, subscription))
        # A change at this moment is sealed with the key that is the first one now.
        return new != (old or ()) and await self._store.subscriptions.put_secrets(
            subscription, new, old=old, tenant=tenant
        )

    async def _tenants(self) -> list[str]:
        names: list[str] = [DEFAULT_TENANT]
        while page := await self._store.tenants.list_tenants(
            limit=AT_ONCE, after=names[-1] if len(names) > 1 else None
        ):
            names += [tenant.name for tenant in page]
        return sorted(set(names))

    async def _absent(self, references: Sequence[SecretReference], *, tenant: str) -> set[str]:
        names = sorted({reference.name for reference in references})
        if not names:
            return set()
        found = await self._store.secrets.find_secrets(names, tenant=tenant)
        return {name for name, secret in zip(names, found, strict=True) if secret is None}

    def _resealed(self, old: SealedSecret) -> SealedSecret:
        purpose = purpose_of(old.tenant, old.name)
        value = self._open(old)
        return SealedSecret(
            tenant=old.tenant, name=old.name, key_id=self.box.key_id, sealed=self.box.seal(value, purpose)
        )

    def _opened(self, name: str, secret: SealedSecret | None) -> str:
        if secret is None:
            raise NotFound(f"there is no secret {name} any more", field="secret")
        return self._open(secret)

    def _open(self, secret: SealedSecret) -> str:
        try:
            return self.box.open(secret.sealed, purpose_of(secret.tenant, secret.name))
        except DrumlineError as error:
            raise type(error)(f"the secret {secret.name} cannot be opened: {error.message}", field="secret") from error


def references_in(wanted: PayloadToCheck) -> list[SecretReference]:
    """Return the secrets that a payload refers to, or raise `Invalid`."""
    if not has_secrets(wanted.payload):
        return []
    return find_secrets(decode(wanted.payload, object), field=wanted.field)


def _references_or_error(payload: bytes) -> list[SecretReference] | Invalid:
    try:
        return references_in(PayloadToCheck(payload))
    except Invalid as error:
        return error


def first_absent(references: Sequence[SecretReference], absent: Container[str]) -> Invalid | None:
    """Return what is wrong with the first reference to a secret that there is not."""
    lost = next((each for each in references if each.name in absent), None)
    if lost is None:
        return None
    return Invalid(f"names the secret {lost.name!r}, which is not there", field=lost.field)
