"""Logs on their way to Elasticsearch: ours as they are written, through our pipeline, into our template."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY, run

FOLDER = DEPLOY / "elk"
PIPELINE: dict[str, Any] = json.loads((FOLDER / "pipeline.json").read_text())
TEMPLATE: dict[str, Any] = json.loads((FOLDER / "template.json").read_text())
TASK_ACTIONS = ("task.submitted", "task.processing", "task.completed", "task.failed")
SPEAKING = """
import logging, structlog
from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.trace import CURRENT_TRACE
from drumline.observe.logging import set_up_logging

set_up_logging("info", "json")
structlog.get_logger().warning("duty.failed", duty="reap", error="Unavailable: away", failures=3)
logging.getLogger("drumline.worker").info("session.opened: %s", "abc")
logging.getLogger("some.library").warning("Something: not ours")
try:
    {}["x"]
except KeyError as error:
    structlog.get_logger().error("wake_ups.lost", error=repr(error), exc_info=error)

class Attempt:
    def facts(self):
        return {"task_id": "t-1", "task": "work", "queue": "default", "attempt": 2, "worker": "w-1"}

from drumline.core.outcome import ErrorInfo, Failed
from drumline.core.task_log import COMPLETED, PROCESSING, SUBMITTED, TASK_LOG
from drumline.worker.process_log import FailureLog

set_up_logging("info", "json", tasks="auto")
facts = Attempt().facts()
TASK_LOG.write(SUBMITTED, [{"task_id": "t-1", "task": "work", "queue": "default", "tenant": "acme", "job": "j-1"}])
TASK_LOG.write(PROCESSING, [facts])
TASK_LOG.write(COMPLETED, [{**facts, "seconds": 0.25}])
FailureLog().write(facts, Failed(ErrorInfo("ValueError", "no")), seconds=1.5)

CURRENT_ATTEMPT.set(Attempt())
CURRENT_TRACE.set("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
logging.getLogger("shop.orders").info("an order was paid")
"""


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    """What Drumline writes, as Filebeat hands it on and the pipeline leaves it."""
    spoken = subprocess.run([sys.executable, "-c", SPEAKING], capture_output=True, text=True, check=True, timeout=60)
    return [pass_through(expanded(json.loads(line))) for line in spoken.stderr.splitlines()]


def expanded(event: dict[str, Any]) -> dict[str, Any]:
    """Do what Filebeat does with dots in names."""
    document: dict[str, Any] = {}
    for name, value in event.items():
        put(document, name, value)
    return document


def pass_through(document: dict[str, Any]) -> dict[str, Any]:
    """Do what Elasticsearch does with the processors that the pipeline has."""
    for processor in PIPELINE["processors"]:
        ((kind, how),) = processor.items()
        if applies(how.get("if"), document):
            PROCESSORS[kind](document, how)
    return document


def applies(condition: str | None, document: dict[str, Any]) -> bool:
    if condition is None:
        return True
    found = re.fullmatch(r"ctx\.([\w?.]+?)(?:\?\.get\('([^']+)'\))? != null", condition)
    assert found, condition
    path = found[1].replace("?", "").split(".") + ([found[2]] if found[2] else [])
    return look(document, path) is not None


def look(document: Any, path: list[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def put(document: dict[str, Any], path: str, value: Any) -> None:
    *rooms, name = path.split(".")
    for room in rooms:
        document = document.setdefault(room, {})
    document[name] = value


def set_field(document: dict[str, Any], how: dict[str, Any]) -> None:
    is_there = look(document, how["field"].split(".")) is not None
    if how.get("override", True) or not is_there:
        put(document, how["field"], look(document, how["copy_from"].split(".")) if "copy_from" in how else how["value"])


PROCESSORS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {"set": set_field}


def leaves(document: dict[str, Any], room: str = "") -> set[str]:
    return {
        leaf
        for name, value in document.items()
        for leaf in (leaves(value, f"{room}{name}.") if isinstance(value, dict) else {f"{room}{name}"})
    }


def mapped(mapping: dict[str, Any], room: str = "") -> set[str]:
    return {
        leaf
        for name, value in mapping["properties"].items()
        for leaf in (mapped(value, f"{room}{name}.") if "properties" in value else {f"{room}{name}"})
    }


def test_every_event_has_a_time_a_level_and_a_message(documents: list[dict[str, Any]]) -> None:
    for document in documents:
        assert {"@timestamp", "message", "log.level", "event.dataset", "service.name", "ecs.version"} <= leaves(
            document
        )
        assert document["log"]["level"].upper() in logging.getLevelNamesMapping()


def test_events_are_found_by_what_happened(documents: list[dict[str, Any]]) -> None:
    actions = [document["event"].get("action") for document in documents]

    assert actions == ["duty.failed", "session.opened", None, "wake_ups.lost", *TASK_ACTIONS, None]
    assert documents[1]["message"] == "session.opened: abc"
    assert documents[1]["log"]["logger"] == "drumline.worker"


def test_lines_about_tasks_have_outcome_duration_and_error(documents: list[dict[str, Any]]) -> None:
    _, processing, completed, failed = documents[4:8]

    assert processing["drumline"]["attempt"] == 2
    assert (completed["event"]["outcome"], completed["event"]["duration"]) == ("success", 250_000_000)
    assert (failed["event"]["outcome"], failed["event"]["duration"]) == ("failure", 1_500_000_000)
    assert failed["error"]["message"] == "ValueError: no"


def test_the_dashboard_is_the_one_that_is_generated() -> None:
    run(sys.executable, str(DEPLOY.parent / "scripts" / "generate_kibana.py"), "--check")


def saved_objects() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "kibana.ndjson").read_text().splitlines()]


def test_everything_that_the_dashboard_refers_to_is_in_the_file() -> None:
    objects = saved_objects()
    known = {(each["type"], each["id"]) for each in objects}
    (dashboard,) = [each for each in objects if each["type"] == "dashboard"]
    panels = json.loads(dashboard["attributes"]["panelsJSON"])

    for each in objects:
        assert {(reference["type"], reference["id"]) for reference in each["references"]} <= known
    assert [panel["panelRefName"] for panel in panels] == [each["name"] for each in dashboard["references"]]
    (view,) = [each for each in objects if each["type"] == "index-pattern"]
    assert [view["attributes"]["title"]] == TEMPLATE["index_patterns"]


def test_charts_and_searches_ask_for_fields_that_are_logged_and_kinds_that_there_are(
    documents: list[dict[str, Any]],
) -> None:
    logged = set().union(*(leaves(document) for document in documents))
    typed = mapped(TEMPLATE["template"]["mappings"])

    for each in saved_objects():
        text = json.dumps(each["attributes"]).replace("\\", "")
        queries = re.findall(r'"query": "(.*?)"\}', text)
        asked = {field for query in queries for field in re.findall(r'([a-z_.]+): "', query)}
        state = json.loads(each["attributes"].get("visState", "{}"))
        asked |= {agg["params"]["field"] for agg in state.get("aggs", ()) if "field" in agg["params"]}
        asked |= set(each["attributes"].get("columns", ()))
        assert asked <= logged & typed, each["id"]
        assert set(re.findall(r'event\.action: "([a-z._]+)"', " ".join(queries))) <= set(TASK_ACTIONS)


def test_logstash_reads_what_is_logged_and_writes_where_the_template_is(documents: list[dict[str, Any]]) -> None:
    text = re.sub(r"^\s*#.*$", "", (FOLDER / "logstash.conf").read_text(), flags=re.MULTILINE)
    logged = set().union(*(leaves(document) for document in documents))
    conditions = re.findall(r"if (.*?) \{", text)
    asked = {".".join(re.findall(r"\[([a-z_]+)\]", path)) for each in conditions
             for path in re.findall(r"(?:\[[a-z_]+\]){2,}", each)}  # fmt: skip

    assert re.findall(r"^(\w+) \{", text, flags=re.MULTILINE) == ["input", "filter", "output"]
    assert text.count("{") == text.count("}") + text.count("\\{")
    assert {"event.dataset", "event.action", "event.outcome", "drumline.seconds", "drumline.attempt"} == asked <= logged
    assert re.findall(r'"(task\.[a-z]+)"', text) == list(TASK_ACTIONS)
    stream = dict(re.findall(r'data_stream_(\w+) => "(\w+)"', text))
    name = f"{stream['type']}-{stream['dataset']}-{stream['namespace']}"
    assert name == yaml.safe_load((FOLDER / "filebeat.yaml").read_text())["output.elasticsearch"]["index"]


def test_errors_have_their_message_type_and_traceback(documents: list[dict[str, Any]]) -> None:
    assert documents[0]["error"]["message"] == "Unavailable: away"
    assert documents[3]["error"]["type"] == "KeyError"
    assert documents[3]["error"]["stack_trace"].startswith("Traceback")


def test_lines_of_a_task_say_which_execution_and_which_trace_they_are_of(documents: list[dict[str, Any]]) -> None:
    line = documents[-1]

    assert line["message"] == "an order was paid"
    assert line["drumline"] == {"task_id": "t-1", "task": "work", "queue": "default", "attempt": 2, "worker": "w-1"}
    assert (line["trace"]["id"], line["span"]["id"]) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


def test_every_field_has_a_type_or_is_ours(documents: list[dict[str, Any]]) -> None:
    known = mapped(TEMPLATE["template"]["mappings"])

    for document in documents:
        assert {leaf for leaf in leaves(document) if not leaf.startswith("drumline.")} <= known
    assert leaves(documents[0]) - known == {"drumline.duty"}


def test_filebeat_the_template_and_the_script_speak_of_the_same() -> None:
    output = yaml.safe_load((FOLDER / "filebeat.yaml").read_text())["output.elasticsearch"]
    script = (FOLDER / "install").read_text()
    settings = TEMPLATE["template"]["settings"]

    assert output["pipeline"] == settings["index.default_pipeline"]
    assert TEMPLATE["index_patterns"] == ["logs-drumline-*"]
    assert output["index"].startswith("logs-drumline-")
    for kind, name, file in re.findall(r"^put (\S+)/(\S+) (\S+)$", script, flags=re.MULTILINE):
        assert (FOLDER / file).exists(), kind
        assert name in {output["pipeline"], settings["index.lifecycle.name"]}
    run("sh", "-n", str(FOLDER / "install"))
