"""Checking an ID token: that it is signed by its issuer, meant for us, of now, and the answer to what was asked.

How a token may be signed is said by the settings, never by the token: one without a signature, or with one that a
public key was misused for as a shared secret, is refused before any key is looked at.
"""

import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Any

import jwt
from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Forbidden, Unauthorized
from drumline.core.provider import ALGORITHMS, Claims, Provider

SIGNS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""The kind of key that each family of algorithms needs."""

_SUBJECT = re.compile(r"[ -~]{1,255}")


class Expected(Struct, frozen=True):
    """The claims that a token must have."""

    provider: Provider
    nonce: str
    now: Instant


class UnknownKey(Exception):
    """The token names a key that is not known, or not any more: its issuer may have changed it."""


def check_id_token(token: str, keys: Iterable[Mapping[str, Any]], expected: Expected) -> Claims:
    """Return the claims of a token, or raise `Unauthorized` if it is not valid."""
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in expected.provider.algorithms or algorithm not in ALGORITHMS:
            raise Unauthorized(f"the ID token is signed by {algorithm}, which is not allowed")
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_of(header, algorithm, keys),
            algorithms=[algorithm],
            audience=expected.provider.client_id,
            issuer=expected.provider.issuer,
            # Times are checked by our own clock.
            options={
                "require": ["exp", "iat", "iss", "aud", "sub"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except (jwt.PyJWTError, ValueError) as error:
        raise Unauthorized(f"the ID token is not valid: {error}") from error
    _check_times(claims, expected)
    _check_answer(claims, expected)
    return claims


def _key_of(header: Mapping[str, Any], algorithm: str, keys: Iterable[Mapping[str, Any]]) -> jwt.PyJWK:
    """Return the issuer's key that a token names, or if it names none the only one that it could mean."""
    kind = SIGNS[algorithm[:2]]
    fitting = [
        key
        for key in keys
        if key.get("kty") == kind and key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm
    ]
    if "kid" in header:
        fitting = [key for key in fitting if key.get("kid") == header["kid"]]
    if len(fitting) != 1:
        raise UnknownKey
    return jwt.PyJWK(dict(fitting[0]), algorithm=algorithm)


def _check_times(claims: Claims, expected: Expected) -> None:
    now, leeway = expected.now / 1000, expected.provider.leeway
    if any(isinstance(claims.get(name), bool) or not isinstance(claims[name], int | float) for name in ("exp", "iat")):
        raise Unauthorized("the ID token has a time that is none")
    if now >= claims["exp"] + leeway:
        raise Unauthorized("the ID token has expired")
    if claims["iat"] > now + leeway or _number(claims.get("nbf", 0)) > now + leeway:
        raise Unauthorized("the ID token is from the future: compare the clocks of both servers")


def _check_answer(claims: Claims, expected: Expected) -> None:
    subject, nonce, ours = claims["sub"], claims.get("nonce"), expected.provider.client_id
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        raise Unauthorized("the ID token does not say who it is about")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), expected.nonce.encode()):
        raise Unauthorized("the ID token is the answer to another sign-in")
    audience = claims["aud"]
    if (isinstance(audience, list) and len(audience) > 1 and "azp" not in claims) or claims.get("azp", ours) != ours:
        raise Unauthorized("the ID token was issued for another client")


def check_same_person(told: Claims, token: Claims) -> Claims:
    """Return the userinfo claims, or raise `Forbidden` if they are about another user than the token."""
    if told.get("sub") != token["sub"]:
        raise Forbidden("the provider's userinfo is about another user")
    return told


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
