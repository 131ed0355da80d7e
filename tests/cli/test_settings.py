"""What can be set, from where, and what is said of mistakes."""

from datetime import timedelta
from pathlib import Path

import pytest

from drumline.core.errors import Invalid
from drumline.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_has_to_be_set() -> None:
    settings = load_settings({})

    assert settings == Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert settings.retention == timedelta(days=7)
    assert settings.sqlite_path == Path(".drumline/drumline.db")


def test_flags_win_over_the_environment_and_that_over_the_file(folder: Path) -> None:
    (folder / "drumline.yaml").write_text("port: 1\nhost: file\nworker:\n  grace: 1m30s\n  queues: [a, b]\n")

    settings = load_settings({"DRUMLINE_PORT": "2", "DRUMLINE_HOST": "environment"}, flags={"port": 3, "host": None})

    assert (settings.port, settings.host) == (3, "environment")
    assert settings.worker.grace == timedelta(seconds=90)
    assert settings.worker.queues == ("a", "b")


def test_a_settings_file_is_named_by_flag_or_variable(folder: Path) -> None:
    (folder / "one.yaml").write_text("port: 1")
    (folder / "two.yaml").write_text("port: 2")

    assert load_settings({"DRUMLINE_CONFIG": "one.yaml"}).port == 1
    assert load_settings({"DRUMLINE_CONFIG": "one.yaml"}, config=Path("two.yaml")).port == 2


def test_values_from_the_environment_are_read_by_type() -> None:
    settings = load_settings(
        {
            "DRUMLINE_ALLOW_SHELL": "yes",
            "DRUMLINE_WORKER_QUEUES": "mail, reports",
            "DRUMLINE_WORKER_CONCURRENCY": "7",
            "DRUMLINE_RETENTION": "PT1H",
            "DRUMLINE_LIMITS_PAYLOAD": "1000",
            "DRUMLINE_LOG_LEVEL": "debug",
            "DRUMLINE_DATA": "~/there",
        }
    )

    assert settings.allow_shell is True
    assert settings.worker.queues == ("mail", "reports")
    assert settings.worker.concurrency == 7
    assert settings.retention == timedelta(hours=1)
    assert settings.limits.payload == 1000
    assert settings.log.level == "debug"
    assert settings.data == Path.home() / "there"


def test_the_names_that_platforms_use_are_understood_and_ours_win() -> None:
    settings = load_settings({"DATABASE_URL": "postgres://a/b", "REDIS_URL": "redis://a", "DRUMLINE_QUEUE_URL": ""})

    assert settings.store_url == "postgres://a/b"
    assert settings.queue_url == "redis://a"
    assert settings.sqlite_path is None
    ours = load_settings({"DATABASE_URL": "postgres://a/b", "DRUMLINE_STORE_URL": "sqlite:////var/tasks.db"})
    assert ours.sqlite_path == Path("/var/tasks.db")


def test_a_secret_is_read_from_the_file_that_its_variable_names(folder: Path) -> None:
    (folder / "secret").write_text("sk_fromfile\n")

    assert load_settings({"DRUMLINE_API_KEY_FILE": "secret"}).api_key == "sk_fromfile"


def test_secrets_are_not_shown_when_settings_are_printed() -> None:
    settings = load_settings({"DRUMLINE_API_KEY": "sk_hush", "DATABASE_URL": "postgresql://u:hush@h/d"})

    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"DRUMLINE_PROT": "1"}, "DRUMLINE_PROT is set, but means nothing; did you mean DRUMLINE_PORT?"),
        ({"DRUMLINE_STROE_URL": "x"}, "means nothing; did you mean DRUMLINE_STORE_URL?"),
        ({"DRUMLINE_PORT": "http"}, "DRUMLINE_PORT: must be a whole number"),
        ({"DRUMLINE_PORT": "70000"}, "DRUMLINE_PORT: must be at most 65535"),
        ({"DRUMLINE_APP_VERSION": "1\n4"}, "DRUMLINE_APP_VERSION: must not contain control characters"),
        ({"DRUMLINE_APP_VERSION": "1" * 256}, "DRUMLINE_APP_VERSION: must be at most 255 characters"),
        ({"DRUMLINE_RETENTION": "a week"}, "DRUMLINE_RETENTION: must be seconds, or"),
        ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL: must start with sqlite:/// or postgresql://"),
        ({"DRUMLINE_LOG_LEVEL": "loud"}, "DRUMLINE_LOG_LEVEL: must be one of debug, info, warning, error"),
        ({"DRUMLINE_API_KEY": "a", "DRUMLINE_API_KEY_FILE": "b"}, "are both set: keep one"),
        ({"DRUMLINE_API_KEY_FILE": "nowhere"}, "DRUMLINE_API_KEY_FILE names nowhere, which cannot be read"),
        ({"DRUMLINE_CONFIG": "nowhere.yaml"}, "there is no settings file nowhere.yaml"),
    ],
)
def test_a_mistake_is_refused_by_its_name(environ: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        load_settings(environ)

    assert message in refusal.value.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("retension: 7d", "drumline.yaml sets retension, which does not exist; did you mean retention?"),
        ("worker: {concurency: 4}", "sets worker.concurency, which does not exist; did you mean worker.concurrency?"),
        ("worker: 4", "worker in drumline.yaml must hold keys and values"),
        ("port: high", "port in drumline.yaml: must be a whole number, not a text"),
        ("- port", "drumline.yaml must hold keys and values"),
        ("port: [", "drumline.yaml is not YAML"),
    ],
)
def test_a_mistake_in_the_file_is_refused_by_its_name(folder: Path, content: str, message: str) -> None:
    (folder / "drumline.yaml").write_text(content)

    with pytest.raises(Invalid) as refusal:
        load_settings({})

    assert message in refusal.value.message


def test_variables_that_kubernetes_sets_for_services_are_left_alone() -> None:
    links = {
        "DRUMLINE_PORT": "tcp://10.0.0.7:8080",
        "DRUMLINE_SERVICE_HOST": "10.0.0.7",
        "DRUMLINE_SERVICE_PORT_HTTP": "8080",
        "DRUMLINE_PORT_8080_TCP_ADDR": "10.0.0.7",
        "DRUMLINE_API_PORT": "tcp://10.0.0.8:8080",
    }

    assert load_settings(links) == Settings()


def test_an_empty_prefix_of_keys_is_a_prefix_and_other_empty_variables_count_as_not_set() -> None:
    settings = load_settings({"DRUMLINE_QUEUE_PREFIX": "", "DRUMLINE_HOST": "", "DRUMLINE_PORT": ""})

    assert settings.queue_prefix == ""
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert load_settings({}).queue_prefix == "drumline:"


@pytest.mark.parametrize("prefix", ["{", "a{}:", "}a{", "{a}{b}", "{a{b}", "a b:", "a\nb", "x" * 201])
def test_a_prefix_that_would_part_keys_which_belong_together_is_refused(prefix: str) -> None:
    with pytest.raises(Invalid) as caught:
        load_settings({"DRUMLINE_QUEUE_PREFIX": prefix})

    assert caught.value.field == "queue_prefix"
    assert "DRUMLINE_QUEUE_PREFIX" in caught.value.message


@pytest.mark.parametrize("prefix", ["drumline:", "{app}:", "app:{one}:"])
def test_a_prefix_may_have_one_hash_tag(prefix: str) -> None:
    assert load_settings({"DRUMLINE_QUEUE_PREFIX": prefix}).queue_prefix == prefix
