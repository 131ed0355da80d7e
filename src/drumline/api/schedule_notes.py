"""What the Python types of requests about schedules cannot say."""

from drumline.api.notes import duration, given, line, moment
from drumline.api.schema import Schema
from drumline.core.accept_schedule import MOST_RUNS
from drumline.core.cron import LONGEST as LONGEST_CRON
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME
from drumline.core.registration import MOST as MOST_REGISTERED
from drumline.engine.runs import MOST_RATE
from drumline.engine.schedules import LONGEST_REASON

_NULL: Schema = {"type": "null"}
_RULES = ("cron", "interval", "run_at")
_TEXTS: dict[str, str] = {
    "timezone": "The IANA time zone by whose clock `cron` goes.",
    "misfire": "What becomes of firings that were due while no scheduler was there.",
    "overlap": "What a firing does while the previous run has not ended.",
    "paused": "Create it without letting it fire.",
    "task": "What each firing submits.",
    "job": "The job that each firing submits.",
}


def schedule_notes(limits: Limits) -> dict[str, Schema]:
    """Return the notes about schedules."""
    fields: dict[str, Schema] = {
        "cron": {
            "type": "string",
            "maxLength": LONGEST_CRON,
            "description": "Five fields, or six with seconds first, or a form such as @daily.",
            "examples": ["30 9 * * MON-FRI"],
        },
        "interval": duration("Fire every so often, at least a second, by real time.", least=1),
        "run_at": moment("Fire once, at this time."),
        "start": moment("Do not fire before this time; an interval is counted from it."),
        "end": moment("Do not fire after this time."),
        "jitter": _given(duration("Spread firings over at most a day, each by its own share.")),
        "max_runs": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_RUNS}, _NULL],
            "description": "Finish after so many runs.",
        },
        **{field: {"description": text} for field, text in _TEXTS.items()},
        "name": line(LONGEST_NAME, description="What it is called; no two of a tenant have the same name."),
    }
    or_null: Schema = {"anyOf": [fields["cron"], _NULL], "description": fields["cron"]["description"]}
    cursor = {"type": "string", "description": "`next_cursor` of the page before."}
    limit: Schema = {"maximum": limits.page, "description": "Items in one page."}
    return {
        **{f"ScheduleRequest.{field}": note for field, note in fields.items()},
        **{f"ScheduleEdit.{field}": note for field, note in fields.items() if field != "paused"},
        **{f"PreviewRequest.{field}": fields[field] for field in ("interval", "run_at", "start", "end", "timezone")},
        **{f"JobSchedule.{field}": note for field, note in fields.items() if field not in {"task", "job"}},
        "ScheduleRequest.cron": or_null,
        "JobSchedule.cron": or_null,
        "JobSchedule.name": {"anyOf": [fields["name"], _NULL], "description": "The job's name unless said otherwise."},
        "JobSchedule": {"oneOf": [given(rule) for rule in _RULES]},
        "PreviewRequest.cron": or_null,
        "ScheduleRequest": {"allOf": [{"oneOf": [given(rule) for rule in _RULES]}, _one_target()]},
        "ScheduleEdit": {
            "allOf": [
                {
                    "not": {
                        "anyOf": [
                            {"required": ["cron", "interval"]},
                            {
                                "required": ["run_at"],
                                "anyOf": [
                                    {"required": ["cron"]},
                                    {"required": ["interval"]},
                                ],
                            },
                        ]
                    }
                },
                {"not": {"required": ["task", "job"]}},
            ]
        },
        "ScheduleEdit.interval": _given(fields["interval"]),
        "ScheduleEdit.run_at": _given(fields["run_at"]),
        "PreviewRequest": {"oneOf": [given(rule) for rule in _RULES]},
        "PreviewRequest.count": {"description": "How many fire times to show."},
        "PreviewRequest.after": moment("Those after this time; now when absent."),
        "TriggerRequest.fire_time": moment("The time that the run is for; now when absent."),
        "BackfillRequest.start": {"description": "The first fire time that may be made up for."},
        "BackfillRequest.end": {"description": "The last one; not in the future."},
        "BackfillRequest.rate": {
            "exclusiveMinimum": 0,
            "maximum": MOST_RATE,
            "description": f"Runs that start in a second; at most {limits.backfill:,} runs in all.",
        },
        "BackfillRequest.dry_run": {"description": "Only tell what would be done."},
        "SchedulePauseRequest.reason": {"anyOf": [line(LONGEST_REASON), _NULL]},
        "SchedulesQuery.name": {"anyOf": [line(LONGEST_NAME), _NULL]},
        "SchedulesQuery.app": {"anyOf": [line(LONGEST_NAME), _NULL], "description": "Those in the code of an app."},
        "SchedulesQuery.limit": limit,
        "SchedulesQuery.cursor": {**cursor, "format": "uuid"},
        "ScheduleQuery.next": {"description": "How many of the next fire times to show."},
        "RunsQuery.limit": limit,
        "RunsQuery.cursor": {**cursor, "pattern": "^[0-9]{1,15}$"},
        "RegisterRequest.app": line(LONGEST_NAME, description="The app's name."),
        "RegisterRequest.modules": {
            "items": line(LONGEST_NAME),
            "description": "The modules that are loaded. Schedules of these that are not named are paused.",
        },
        "RegisterRequest.schedules": {"maxItems": MOST_REGISTERED},
        "AppSchedule.module": line(LONGEST_NAME, description="One of modules."),
    }


def _given(schema: Schema) -> Schema:
    """Return the schema of something that may not be null."""
    return {**schema, "anyOf": [one for one in schema["anyOf"] if one != _NULL]}


def _one_target() -> Schema:
    return {"oneOf": [given("task"), given("job")]}
