"""Webhooks are signed as Standard Webhooks says, also while a secret is being changed."""

import base64

import pytest

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.signing import SigningSecret, active, check_secret, rotated, secret_text, signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""With the message below and its signature, from the documentation of Standard Webhooks."""


def test_the_example_of_the_standard_has_its_signature() -> None:
    body = b'{"test": 2432232314}'

    signed = signature([SECRET], id="msg_p5jXN8AQM9LWM0D4loKWxJek", seconds=1614265330, body=body)

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_message_is_signed_under_each_secret() -> None:
    one, two = secret_text(b"1" * 24), secret_text(b"2" * 24)

    both = signature([one, two], id="m", seconds=1, body=b"x")

    assert both == f"{signature([one], id='m', seconds=1, body=b'x')} {signature([two], id='m', seconds=1, body=b'x')}"
    assert len(set(both.split())) == 2


def test_key_material_is_written_as_base64_behind_a_prefix() -> None:
    assert secret_text(b"\xff" * 24) == "whsec_" + base64.b64encode(b"\xff" * 24).decode()


@pytest.mark.parametrize("size", [24, 64])
def test_a_secret_of_the_callers_own_may_have_24_to_64_bytes(size: int) -> None:
    text = secret_text(b"k" * size)

    assert check_secret(text, field="secret") == text


@pytest.mark.parametrize(
    "text",
    [
        secret_text(b"k" * 23),
        secret_text(b"k" * 65),
        secret_text(b"k" * 32).removeprefix("whsec_"),
        "whsec_",
        "whsec_a",
        "whsec_" + "ä" * 40,
        "whsec_" + "!" * 48,
        secret_text(b"k" * 32) + "\n",
    ],
)
def test_other_secrets_are_refused_with_the_field(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_secret(text, field="secret")

    assert caught.value.field == "secret"
    assert "must be whsec_ and 24 to 64 random bytes in base64; leave it out to get one" in str(caught.value)


def test_after_a_rotation_the_newest_two_sign_and_the_older_one_only_for_a_time() -> None:
    secrets = (SigningSecret("b"), SigningSecret("a", Instant(5)))

    assert rotated(secrets, "c", until=Instant(10)) == (SigningSecret("c"), SigningSecret("b", Instant(10)))
    assert rotated((), "a", until=Instant(10)) == (SigningSecret("a"),)


@pytest.mark.parametrize(("now", "texts"), [(9, ("b", "a")), (10, ("b",)), (11, ("b",))])
def test_a_secret_signs_until_its_time_and_not_at_it(now: int, texts: tuple[str, ...]) -> None:
    assert active((SigningSecret("b"), SigningSecret("a", Instant(10))), Instant(now)) == texts


def test_a_secret_is_not_shown() -> None:
    assert repr(SigningSecret(SECRET)) == "Secret(***)"
