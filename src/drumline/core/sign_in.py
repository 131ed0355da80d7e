"""A sign-in: the session of a browser whose user has proved their identity once.

Only the browser keeps it, sealed. It ends by itself when it was not used for a while, and in any
case after its lifetime; before that, when its key ends, or when the user signs out.
"""

from typing import Final

from msgspec import Struct

from drumline.core.access import Caller, Role, permissions_of
from drumline.core.clock import Instant
from drumline.core.provider import Provider
from drumline.core.rate import Rate

USUAL_RATE: Final = Rate(1000, 60.0)
"""The rate of a browser: a page sends many requests at once."""
EVERYBODY: Final = "*"
"""Stands for all who are signed in."""


class SignInPolicy(Struct, frozen=True, kw_only=True):
    """Who vouches for people, and how long they stay."""

    providers: tuple[Provider, ...] = ()
    idle_ms: int = 12 * 3_600_000
    lifetime_ms: int = 7 * 86_400_000
    rate: Rate | None = USUAL_RATE
    public_url: str | None = None
    """Where people reach the web interface, if that is set."""


class SignIn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a browser keeps."""

    id: str
    user: str
    """Who it is: `key:<id>`, or `<provider>:<subject>`."""
    name: str
    """What they are called."""
    created_at: Instant
    """When it was made, by the store's time: signing out everywhere ends what was made before."""
    seen_at: Instant
    ends_at: Instant
    role: Role = Role.VIEWER
    tenant: str | None = None
    digest: bytes | None = None
    """For one by key: the digest of the key, which must still open."""
    proof: str | None = None
    """For one by the key that the server was started with: what shows that it still is that key."""
    is_lasting: bool = False
    """Whether it is to outlive the browser's window."""

    @property
    def provider(self) -> str | None:
        """The provider of the sign-in; empty for one by key."""
        name = self.user.partition(":")[0]
        return None if self.is_by_key else name

    @property
    def is_by_key(self) -> bool:
        """Whether a key was shown."""
        return self.digest is not None or self.proof is not None

    def is_over(self, now: Instant, idle_ms: int) -> bool:
        """Tell whether it has ended by itself."""
        return now >= self.ends_at or now - self.seen_at >= idle_ms

    def caller(self, rate: Rate | None) -> Caller:
        """Return the caller of a sign-in by a provider."""
        held = permissions_of(self.role, (), self.tenant)
        return Caller(
            self.name, self.tenant, self.user, self.role, held, rate=rate, is_of_tenant=self.tenant is not None
        )


def mark_of_sign_in(sign_in: str) -> str:
    """Return the mark that ends one sign-in."""
    return f"sign-in {sign_in}"


def mark_of_user(user: str) -> str:
    """Return the mark that ends every earlier sign-in of a user; `*` means all users."""
    return f"user {user}"


def mark_of_state(state: str) -> str:
    """Return the mark that a way to a provider and back was gone, and cannot be gone again."""
    return f"state {state}"
