"""From what is set about signing in to the policy that the API goes by, and the secret that its servers share."""

from hashlib import scrypt
from pathlib import Path
from typing import Final

import msgspec

from drumline.core.duration import millis
from drumline.core.errors import Invalid
from drumline.core.provider import Provider, check_provider
from drumline.core.rate import parse_rate
from drumline.core.sign_in import SignInPolicy
from drumline.settings.fields import Settings

LEAST_SECRET: Final = 32
"""Characters that a secret must have."""


def sign_in_policy_of(settings: Settings) -> SignInPolicy:
    """Return the policy, or raise `Invalid` naming the wrong setting."""
    given = settings.sign_in
    if millis(given.idle) < 60_000:
        raise Invalid("must be a minute or more", field="sign_in.idle")
    if given.lifetime < given.idle:
        raise Invalid("must not be shorter than sign_in.idle", field="sign_in.lifetime")
    providers = tuple(_provider(each, f"sign_in.providers[{n}]") for n, each in enumerate(given.providers))
    names = [provider.name for provider in providers]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise Invalid(f"there are two called {name}", field=f"sign_in.providers[{number}].name")
    return SignInPolicy(
        providers=providers,
        idle_ms=millis(given.idle),
        lifetime_ms=millis(given.lifetime),
        rate=parse_rate(given.rate, field="sign_in.rate"),
        public_url=settings.public_url,
    )


def sign_in_secret_of(settings: Settings, first_key: str) -> bytes:
    """Return the secret that seals sign-ins. Slow by design: a first key may be short, and must not be guessed."""
    secret = settings.sign_in.secret
    if secret is None:
        return scrypt(first_key.encode(), salt=b"drumline sign-ins", n=2**14, r=8, p=1, dklen=32)
    if len(secret) < LEAST_SECRET:
        raise Invalid(f"must have at least {LEAST_SECRET} characters", field="sign_in.secret")
    return str(secret).encode()


def _provider(provider: Provider, field: str) -> Provider:
    if provider.client_secret is not None and provider.client_secret_file is not None:
        raise Invalid("and client_secret_file are both set: keep one", field=f"{field}.client_secret")
    if provider.client_secret_file is not None:
        try:
            secret = Path(provider.client_secret_file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"cannot be read: {error}", field=f"{field}.client_secret_file") from error
        provider = msgspec.structs.replace(provider, client_secret=secret, client_secret_file=None)
    return check_provider(provider, field=field)
