"""What can be set about signing in, and what is said of mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest

from drumline.core.access import Role
from drumline.core.errors import Invalid
from drumline.settings import load_settings
from drumline.settings.convert import sign_in_policy_of, sign_in_secret_of
from tests.cli.conftest import Drumline

PROVIDER: dict[str, Any] = {
    "name": "company",
    "issuer": "https://sso.example.com",
    "client_id": "drumline",
    "client_secret": "hush",
    "rules": [{"value": "ops", "role": "operator"}],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(*providers: dict[str, Any]) -> dict[str, str]:
    return {"DRUMLINE_SIGN_IN_PROVIDERS": json.dumps(providers)}


def test_providers_are_read_from_a_file_of_settings(folder: Path) -> None:
    (folder / "drumline.yaml").write_text(
        "sign_in:\n  idle: 2h\n  providers:\n    - name: company\n      issuer: https://sso.example.com\n"
        "      client_id: drumline\n      rules:\n        - {value: ops, role: operator}\n"
    )

    policy = sign_in_policy_of(load_settings({}))

    assert policy.idle_ms == 2 * 3_600_000
    assert policy.providers[0].rules[0].role is Role.OPERATOR
    assert policy.providers[0].title == "Company"


def test_providers_are_json_in_the_environment_or_in_the_file_that_it_names(folder: Path) -> None:
    (folder / "providers.json").write_text(json.dumps([PROVIDER]))

    by_text = sign_in_policy_of(load_settings(given(PROVIDER)))
    by_file = sign_in_policy_of(load_settings({"DRUMLINE_SIGN_IN_PROVIDERS_FILE": "providers.json"}))

    assert by_text == by_file
    assert by_text.providers[0].client_secret == "hush"


def test_a_clients_secret_may_lie_in_a_file_and_is_shown_nowhere(folder: Path) -> None:
    (folder / "secret").write_text("hush\n")
    settings = load_settings(given({**PROVIDER, "client_secret": None, "client_secret_file": "secret"}))

    policy = sign_in_policy_of(settings)

    assert policy.providers[0].client_secret == "hush"
    assert "hush" not in repr(policy)
    assert "hush" not in repr(load_settings(given(PROVIDER)))


@pytest.mark.parametrize(
    ("environ", "field", "message"),
    [
        ({"DRUMLINE_SIGN_IN_PROVIDERS": "[{"}, "sign_in.providers", "is not JSON"),
        (given({"name": "a"}), "sign_in.providers[0].issuer", "is required"),
        (given({**PROVIDER, "isuer": "x"}), "sign_in.providers[0].isuer", "did you mean issuer?"),
        (given({**PROVIDER, "name": "Big Corp"}), "sign_in.providers[0].name", "lower-case letters"),
        (given({**PROVIDER, "name": "key"}), "sign_in.providers[0].name", "and not key"),
        (given(PROVIDER, PROVIDER), "sign_in.providers[1].name", "two called company"),
        (given({**PROVIDER, "issuer": "sso.example.com"}), "sign_in.providers[0].issuer", "an address such as"),
        (given({**PROVIDER, "rules": []}), "sign_in.providers[0].rules", "no user could sign in"),
        (given({**PROVIDER, "algorithms": ["HS256"]}), "sign_in.providers[0].algorithms", "must be some of RS256"),
        (given({**PROVIDER, "algorithms": ["none"]}), "sign_in.providers[0].algorithms", "must be some of RS256"),
        (given({**PROVIDER, "scopes": ["email"]}), "sign_in.providers[0].scopes", "openid"),
        (given({**PROVIDER, "tenant": "Big"}), "sign_in.providers[0].tenant", "lower-case"),
        (given({**PROVIDER, "client_secret_file": "x"}), "sign_in.providers[0].client_secret", "keep one"),
        ({"DRUMLINE_SIGN_IN_IDLE": "1s"}, "sign_in.idle", "a minute or more"),
        ({"DRUMLINE_SIGN_IN_LIFETIME": "1h"}, "sign_in.lifetime", "not be shorter"),
        ({"DRUMLINE_SIGN_IN_RATE": "often"}, "sign_in.rate", "must be a rate"),
    ],
)
def test_a_mistake_is_refused_by_its_name(environ: dict[str, str], field: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        sign_in_policy_of(load_settings(environ))

    assert refusal.value.field == field
    assert message in refusal.value.message


def test_servers_that_share_their_first_key_share_sign_ins() -> None:
    settings = load_settings({})

    assert sign_in_secret_of(settings, "a key") == sign_in_secret_of(settings, "a key")
    assert sign_in_secret_of(settings, "a key") != sign_in_secret_of(settings, "another")
    assert b"a key" not in sign_in_secret_of(settings, "a key")


def test_a_secret_of_its_own_must_be_long() -> None:
    with pytest.raises(Invalid, match="at least 32"):
        sign_in_secret_of(load_settings({"DRUMLINE_SIGN_IN_SECRET": "short"}), "a key")

    secret = "0123456789abcdef0123456789abcdef"
    settings = load_settings({"DRUMLINE_SIGN_IN_SECRET": secret})
    assert sign_in_secret_of(settings, "a key") == sign_in_secret_of(settings, "another")
    assert secret not in repr(settings)


def test_somebody_is_signed_out_from_the_command_line(online: Drumline) -> None:
    assert online("sign-ins", "revoke", "*").code == 2
    done = online("sign-ins", "revoke", "company:ada-1", "--yes", "--reason", "left")
    wrong = online("sign-ins", "revoke", "ada", "--yes")

    assert done.code == 0
    assert wrong.code == 2
    assert "user" in wrong.err
    rows = online("audit", "list", "--act", "sign_in.revoke", "--json").json
    assert rows[-1]["reason"] == "left"
