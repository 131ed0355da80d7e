"""What the Python types of requests about jobs cannot say."""

from drumline.api.notes import given, line
from drumline.api.schema import Schema
from drumline.core.accept_job import MOST_JOBS_NEEDED
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_TAG
from drumline.core.references import LONGEST_KEY
from drumline.core.retry import MOST_RETRIES

LONGEST_REASON = 500

_LIKE_TASKS = ("payload", "queue", "priority", "run_at", "backoff", "timeout", "tags", "notify", "limit_key")
_RETRIES = {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES}


def job_notes(limits: Limits, tasks: dict[str, Schema]) -> dict[str, Schema]:
    """Return the notes about jobs; `tasks` are those about tasks, which hold for the tasks of jobs as well."""
    key = {"anyOf": [line(LONGEST_NAME), {"type": "null"}]}
    one_key: Schema = {"not": {"allOf": [given("idempotency_key"), given("idempotencyKey")]}}
    one_time: Schema = {"not": {"allOf": [given("delay"), given("run_at")]}}
    short: Schema = {"not": {"allOf": [given("command"), {"anyOf": [given("name"), given("payload")]}]}}
    return {
        **{f"JobTaskRequest.{field}": tasks[f"TaskRequest.{field}"] for field in _LIKE_TASKS},
        "JobTaskRequest": {"allOf": [one_time, short]},
        "JobTaskRequest.name": {
            "anyOf": [line(LONGEST_NAME), {"type": "null"}],
            "description": "What kind of task it is; its key unless said otherwise.",
        },
        "JobTaskRequest.command": {
            "anyOf": [
                line(LONGEST_NAME),
                {"type": "array", "items": line(LONGEST_NAME), "minItems": 1},
                {"type": "null"},
            ],
            "description": "Short for a shell task: a text for the shell, or a program with its arguments.",
        },
        "JobTaskRequest.needs": {
            "items": line(LONGEST_KEY),
            "uniqueItems": True,
            "description": "The keys of the tasks of this job that must have ended first.",
        },
        "JobTaskRequest.run_if": {"description": "When it runs, once all that it needs has ended."},
        "JobTaskRequest.delay": {
            **tasks["TaskRequest.delay"],
            "description": "Run it so much later than its release; not together with run_at.",
        },
        "JobTaskRequest.retries": {
            "anyOf": [_RETRIES, {"type": "null"}],
            "description": "How often to try again after a failure; the job's unless said otherwise.",
        },
        "JobRequest": one_key,
        "JobRequest.name": line(LONGEST_NAME, description="What the job is called; several may have the same name."),
        "JobRequest.owner": {"anyOf": [line(LONGEST_NAME), {"type": "null"}], "description": "Whose job it is."},
        "JobRequest.tasks": {
            "minProperties": 1,
            "maxProperties": limits.job_tasks,
            "propertyNames": line(LONGEST_KEY),
            "description": "The tasks by key. What they need must be there, and there must be no cycle.",
        },
        "JobRequest.retries": {
            "anyOf": [_RETRIES, {"type": "null"}],
            "description": "For tasks that say nothing else.",
        },
        "JobRequest.backoff": {**tasks["TaskRequest.backoff"], "description": "For tasks that say nothing else."},
        "JobRequest.notify": {
            **tasks["TaskRequest.notify"]["anyOf"][0],
            "description": "Whom to tell when the job as a whole ends; its tasks have a `notify` of their own.",
        },
        "JobRequest.tags": {**tasks["TaskRequest.tags"]["anyOf"][0], "description": "Words to find it by."},
        "JobRequest.depends_on": {
            "items": {"type": "string", "format": "uuid"},
            "maxItems": MOST_JOBS_NEEDED,
            "description": "Jobs that must have completed before this one begins.",
        },
        "JobRequest.schedule": {"description": "Make it the pattern of a schedule: each firing is a job of its own."},
        "JobRequest.idempotency_key": {
            **key,
            "description": "Submitted twice under one key, a job is stored once; another body under it is refused.",
        },
        "JobRequest.idempotencyKey": {**key, "description": "The same as idempotency_key."},
        "JobsQuery.limit": tasks["ListQuery.limit"],
        "JobsQuery.cursor": tasks["ListQuery.cursor"],
        "JobsQuery.status": tasks["ListQuery.status"],
        "JobsQuery.name": line(LONGEST_NAME),
        "JobsQuery.owner": line(LONGEST_NAME),
        "JobsQuery.tag": line(LONGEST_TAG),
        "JobsQuery.idempotency_key": line(LONGEST_NAME),
        "CancelJobRequest.reason": {"anyOf": [line(LONGEST_REASON), {"type": "null"}]},
    }
