"""Makes the engine's key policy from the settings under `access`."""

import re

from drumline.core.access import KeyPolicy, Role
from drumline.core.api_key import ENVIRONMENT_PATTERN
from drumline.core.errors import Invalid
from drumline.core.rate import parse_rate
from drumline.settings.fields import AccessSettings


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
