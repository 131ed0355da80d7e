"""Converts settings to the structs that the engine and the API take: policies, limits and tuning."""

import re
from hashlib import scrypt
from pathlib import Path
from typing import Final

import msgspec

from drumline.core.access import KeyPolicy, Role
from drumline.core.api_key import ENVIRONMENT_PATTERN
from drumline.core.duration import millis
from drumline.core.errors import Invalid
from drumline.core.limits import HttpLimits
from drumline.core.provider import Provider, check_provider
from drumline.core.rate import parse_rate
from drumline.core.retry import DEFAULT_RETRY, Backoff, RetryDefaults
from drumline.core.sign_in import SignInPolicy
from drumline.core.task_type import PayloadMode
from drumline.core.tuning import Tuning
from drumline.settings.fields import AccessSettings, HttpSettings, Settings


def policy_of(access: AccessSettings) -> KeyPolicy:
    """Return the policy, or raise `Invalid` naming the wrong setting."""
    if re.fullmatch(ENVIRONMENT_PATTERN, access.environment) is None:
        raise Invalid("must be 1 to 16 lower-case letters and digits", field="access.environment")
    return KeyPolicy(
        environment=access.environment,
        rates={role: parse_rate(getattr(access, f"{role}_rate"), field=f"access.{role}_rate") for role in Role},
        first_rate=parse_rate(access.first_key_rate, field="access.first_key_rate"),
        anonymous_rate=parse_rate(access.anonymous_rate, field="access.anonymous_rate"),
        tenant_keys=access.tenant_keys,
        proxies=access.trusted_proxies,
    )


def http_limits_of(settings: HttpSettings) -> HttpLimits:
    """Return the limits that the settings say."""
    return HttpLimits(
        connections=settings.connections,
        connections_per_address=settings.connections_per_address,
        header_bytes=settings.header_bytes,
        url_bytes=settings.url_bytes,
        header_timeout=settings.header_timeout.total_seconds(),
        body_timeout=settings.body_timeout.total_seconds(),
        keep_alive=settings.keep_alive.total_seconds(),
        write_timeout=settings.write_timeout.total_seconds(),
        request_bytes=settings.request_bytes,
    )


def tuning_of(settings: Settings) -> Tuning:
    """Return how the engine is to work."""
    tasks, tune = settings.tasks, settings.tune
    backoff = Backoff(
        base=tasks.backoff_base, factor=tasks.backoff_factor, cap=tasks.backoff_cap, jitter=tasks.backoff_jitter
    )
    retry = RetryDefaults(retries=tasks.retries, backoff=backoff)
    return Tuning(
        poll=tune.poll.total_seconds(),
        submit_batch=tune.submit_batch,
        claim_batch=tune.claim_batch,
        # The very same object where nothing is set, so that an identity check finds the common case.
        retry=DEFAULT_RETRY if retry == DEFAULT_RETRY else retry,
        paused_queues=frozenset(settings.pauses.queues),
        paused_names=frozenset(settings.pauses.names),
        payload_check=PayloadMode(tasks.payload_check),
    )


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
