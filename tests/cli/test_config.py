"""What is set and where it comes from: the file, the Parameter Store, the environment, and what is said of it."""

from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from drumline.core.errors import Invalid, Unavailable
from drumline.settings import Sources, load_settings
from drumline.settings.leaves import LEAVES, LIVE
from drumline.settings.queues import parse_queues
from drumline.settings.sources import check_runtime
from tests.cli.conftest import Drumline
from tests.harness.parameters import Parameters


def test_every_live_setting_exists() -> None:
    assert set(LEAVES) >= LIVE


def test_each_value_is_shown_with_its_origin_and_secrets_are_not(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drumline.yaml").write_text("port: 9000\nworker: {queues: [mail=3, reports], grace: 90}\n")
    monkeypatch.setenv("DRUMLINE_PORT", "9001")
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:hush@db/drumline")

    shown = {item["key"]: item for item in drumline("config", "show", "--json").json}
    plain = drumline("config", "show")

    assert shown["port"] == {"key": "port", "value": 9001, "origin": "DRUMLINE_PORT", "live": False}
    assert shown["worker.queues"]["value"] == ["mail=3", "reports"]
    assert shown["worker.queues"]["origin"] == "worker.queues in drumline.yaml"
    assert shown["worker.queues"]["live"] is True
    assert shown["worker.grace"]["value"] == "1m30s"
    assert shown["store_url"] == {"key": "store_url", "value": "***", "origin": "DATABASE_URL", "live": False}
    assert "hush" not in plain.out
    assert "mail=3, reports" in plain.out
    assert "host" not in shown
    assert {item["key"] for item in drumline("config", "show", "--all", "--json").json} == set(LEAVES)


def test_a_check_names_everything_that_is_wrong(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drumline.yaml").write_text("port: high\nworker: {queues: ['bad queue', mail=many]}\n")
    monkeypatch.setenv("DRUMLINE_WORKER_CONCURENCY", "9")

    ran = drumline("config", "check")
    told = drumline("config", "check", "--json")

    assert ran.code == told.code == ExitCode.USAGE
    assert "port in drumline.yaml: must be a whole number, not a text" in ran.err
    assert "worker.queues in drumline.yaml: must be letters, digits" in ran.err
    assert "did you mean DRUMLINE_WORKER_CONCURRENCY?" in ran.err
    assert (told.json["valid"], len(told.json["problems"])) == (False, 3)


def test_a_valid_configuration_is_said_to_be_so(drumline: Drumline, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("port: 9000\n")

    assert drumline("config", "check", "--config", "other.yaml").out == "The configuration is valid.\n"


def test_settings_are_explained(drumline: Drumline) -> None:
    ran = drumline("config", "docs", "worker.concurrency")

    assert "worker.concurrency  (number, live; default 64)" in ran.out
    assert "DRUMLINE_WORKER_CONCURRENCY" in ran.out
    assert len(drumline("config", "docs", "--json").json) == len(LEAVES)
    missing = drumline("config", "docs", "worker.concurency")
    assert missing.code == ExitCode.NOT_FOUND
    assert "did you mean worker.concurrency?" in missing.err


def test_a_file_can_make_nothing_but_data(tmp_path: Path) -> None:
    file = tmp_path / "evil.yaml"
    file.write_text(f"data: !!python/object/apply:pathlib.Path.touch [{tmp_path / 'made'}]\n")

    with pytest.raises(Invalid, match="is not YAML"):
        load_settings({}, config=file)

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("entry", ["mail=0", "mail=x", "mail=-1", "mail=1001", "=3", "a b"])
def test_a_weight_or_queue_that_cannot_be_is_refused(entry: str) -> None:
    with pytest.raises(Invalid):
        parse_queues([entry])


def test_weights_are_one_unless_said() -> None:
    assert parse_queues(["mail=3", "reports"]) == {"mail": 3, "reports": 1}


def test_parameters_are_read_by_path_page_by_page_and_decrypted(parameters: Parameters) -> None:
    parameters.put({"worker/concurrency": "7", "worker/label": "gpu", "log/level": "debug"})
    parameters.put({f"limits/{name}": "5000" for name in ("payload", "result", "log", "error", "bulk", "page")})
    parameters.put({"bus/events_topic": "e", "bus/username": "u", "queue_prefix": "p:"})  # ten fit on a page
    parameters.put({"worker/queues": "mail=2,reports"}, type="StringList")
    parameters.put({"api_key": "sk_secure"}, type="SecureString")

    loaded = Sources({"DRUMLINE_CONFIG": parameters.config}).load()

    assert loaded.settings.worker.concurrency == 7
    assert loaded.settings.worker.queues == ("mail=2", "reports")
    assert loaded.settings.api_key == "sk_secure"
    assert loaded.settings.limits.error == 5000
    assert loaded.settings.queue_prefix == "p:"
    assert loaded.origins["worker.concurrency"] == f"{parameters.config}worker/concurrency"


def test_parameters_win_over_a_file_before_them_and_the_environment_over_both(
    parameters: Parameters, tmp_path: Path
) -> None:
    file = tmp_path / "base.yaml"
    file.write_text("port: 1\nhost: file\nworker: {concurrency: 1}\n")
    parameters.put({"port": "2", "host": "parameter"})

    settings = load_settings({"DRUMLINE_HOST": "environment"}, config=f"{file},{parameters.config}")

    assert (settings.port, settings.host, settings.worker.concurrency) == (2, "environment", 1)


def test_a_mistake_in_a_parameter_is_refused_by_its_name(parameters: Parameters) -> None:
    parameters.put({"worker/concurency": "7"})
    with pytest.raises(Invalid) as unknown:
        load_settings({}, config=parameters.config)
    parameters.drop("worker/concurency")
    parameters.put({"worker/concurrency": "many"})
    with pytest.raises(Invalid) as wrong:
        load_settings({}, config=parameters.config)

    assert unknown.value.message.endswith("worker.concurency, which does not exist; did you mean worker.concurrency?")
    assert wrong.value.message == f"{parameters.config}worker/concurrency: must be a whole number, not a text"


def test_a_parameter_store_that_does_not_answer_is_named(
    parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:1")

    with pytest.raises(Unavailable, match=f"{parameters.config} cannot be read: Could not connect"):
        load_settings({}, config=parameters.config)


def test_the_runtime_configuration_wins_and_a_label_wins_in_it() -> None:
    sources = Sources({"DRUMLINE_WORKER_LABEL": "gpu"}, flags={"worker.concurrency": 1})
    runtime = {"worker.concurrency@gpu": 4, "worker.concurrency": 20, "worker.queues@cpu": ["x"], "unknown.one": 1}

    loaded = sources.load(runtime)

    assert loaded.settings.worker.concurrency == 4
    assert loaded.settings.worker.queues == ()
    assert loaded.origins["worker.concurrency"] == "runtime configuration, worker.concurrency@gpu"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("worker.concurency", 1, "there is no setting worker.concurency; did you mean worker.concurrency?"),
        ("port", 1, "port is read when a process starts"),
        ("log.level@gpu", "debug", "only settings of workers can be set for a label"),
        ("worker.concurrency", 0, "worker.concurrency: must be at least 1"),
        ("worker.queues", ["a b"], "worker.queues: must be letters, digits"),
        ("access.admin_rate", "often", "access.admin_rate: must be a rate such as"),
        ("tune.poll", "2h", "tune.poll: must be from 10ms to 1m"),
    ],
)
def test_what_cannot_be_runtime_configuration_is_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_runtime(key, value)

    assert message in refusal.value.message


def test_the_fleets_configuration_is_set_shown_and_taken_back(online: Drumline) -> None:
    done = online("config", "set", "tasks.retries=5", "worker.queues@gpu=mail=3,reports", "--reason", "try")
    shown = {item["key"]: item for item in online("config", "show", "--fleet", "--json").json}
    stale = online("config", "set", "tasks.retries=6", "--version", "0")
    refused = online("config", "set", "worker.concurency=5")
    past = online("config", "history", "--json").json
    taken = online("config", "unset", "tasks.retries", "worker.queues@gpu", "--json")

    assert done.out == "tasks.retries=5\nworker.queues@gpu=mail=3, reports\n"
    assert shown["tasks.retries"]["origin"] == "runtime configuration, tasks.retries"
    assert stale.code == ExitCode.CONFLICT
    assert refused.code == ExitCode.USAGE
    assert "did you mean worker.concurrency?" in refused.err
    assert (past[0]["reason"], past[0]["settings"]["tasks.retries"]) == ("try", 5)
    assert taken.json["settings"] == {}
    assert online("config", "get").out == ""
    assert online("config", "set", "tasks.retries").code == ExitCode.USAGE
