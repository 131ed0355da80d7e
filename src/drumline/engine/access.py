"""The services for authentication, quotas and the audit log, put together."""

from random import Random, SystemRandom

from drumline.core.access import KeyPolicy
from drumline.core.ids import IdSource
from drumline.engine.audit import AuditService
from drumline.engine.identities import Identities
from drumline.engine.keys import KeyService
from drumline.engine.limits import LocalLimiter
from drumline.engine.options import EngineOptions
from drumline.engine.quotas import QuotaService
from drumline.engine.sign_ins import SignInService
from drumline.engine.tenants import TenantService
from drumline.ports.limiter import Limiter
from drumline.ports.store import Store


class Access:
    """Keys, sign-ins, tenants, quotas, limits and the audit log."""

    def __init__(self, store: Store, options: EngineOptions) -> None:
        clock = options.clock
        new_id = IdSource(clock.now, Random(SystemRandom().getrandbits(256))).next  # noqa: S311 - distinct, not secret
        self.identities = Identities(store.keys, clock=clock, policy=options.policy)
        self.tenants = TenantService(store.tenants, clock=clock)
        self.quotas = QuotaService(store.tenants, self.tenants, options.quota_counts, clock=clock)
        self.keys = KeyService(store.keys, self.identities, self.tenants, clock=clock, new_id=new_id)
        self.sign_ins = SignInService(store, clock=clock, options=options.sign_in)
        self.audit = AuditService(store.audit, new_id=new_id)
        self.limiter: Limiter = options.limiter or LocalLimiter(clock)

    @property
    def policy(self) -> KeyPolicy:
        """How keys are made, and how often they may be used."""
        return self.identities.policy

    def use_policy(self, policy: KeyPolicy) -> None:
        """Apply another policy from now on."""
        self.identities.policy = policy

    async def close(self) -> None:
        """Write down what is left to write, and let go of every connection."""
        await self.identities.close()
        await self.tenants.close()
        await self.sign_ins.close()
        await self.limiter.close()
