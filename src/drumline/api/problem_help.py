"""What each problem's page says: cause, an example that brings it about, and what to do. One entry for each code.

The same text is at `/errors/{code}` of a server, where the `type` of a problem reply leads, and in `docs/errors`. In
examples, `$URL` is the address of the server and `$KEY` a key that may do everything.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct


class Help(Struct, frozen=True, kw_only=True):
    """The explanation of one problem. Text between backticks is code."""

    cause: str
    cure: tuple[str, ...]
    repeat: str
    """Whether sending the same request again can help."""
    example: str = ""
    """A command that gets this answer, or nothing where none can."""
    given: str = ""
    """What the example assumes, for readers."""
    prepare: str = ""
    """What has to be there before the example: commands that only the tests run."""


NO = "No: the same request gets the same answer."
LATER = "Yes, after the seconds in `Retry-After`. Nothing was stored or changed."
UNKNOWN = (
    "Yes, if it only reads or has an idempotency key. Otherwise look first whether the first one was stored: the failure "
    "may have come after that."
)

HELP: Final[Mapping[str, Help]] = MappingProxyType(
    {
        "malformed": Help(
            cause="The body is not JSON, is empty, or is not valid UTF-8; or the query string cannot be decoded. "
            "`field` says which of the two.",
            cure=(
                (
                    "Check the body with a JSON parser. Common causes: single quotes, a trailing comma, or a shell that "
                    "removed the double quotes."
                ),
                "Send UTF-8 without a byte order mark.",
            ),
            repeat=NO,
            example="curl $URL/api/v1/tasks -H \"X-API-Key: $KEY\" -d '{name: shell}'",
        ),
        "unauthorized": Help(
            cause="The request has no API key, or one that is not valid: mistyped, disabled, expired or revoked. `detail` "
            "says which.",
            cure=(
                "Send the key as `X-API-Key: sk_…` or `Authorization: Bearer sk_…`.",
                "On the machine of a server started with `drumline dev`, the first key is in `.drumline/api-key`.",
                "Ask an administrator for a new key: `drumline keys create NAME --role submitter`.",
            ),
            repeat=NO,
            example="curl $URL/api/v1/tasks",
        ),
        "forbidden": Help(
            cause="The key is valid, but its role, scopes, task names, queues or tenant do not allow this request. `detail` "
            "names the missing permission.",
            cure=(
                "`drumline keys whoami` shows what the key may do.",
                "Use a key with a role that has the permission, or let an administrator create one.",
                "For a request about another tenant, the key must be for all tenants (`*`).",
            ),
            repeat=NO,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $VIEWER_KEY" -d \'{"name": "shell"}\'',
            given="`$VIEWER_KEY` is a key with the role `viewer`, which may not submit.",
            prepare="VIEWER_KEY=$(drumline keys create viewer --role viewer --json | "
            "python -c 'import json, sys; print(json.load(sys.stdin)[\"key\"])')",
        ),
        "not_found": Help(
            cause="There is no task, job, schedule, queue, worker or key with this id or name, or it belongs to another "
            "tenant: both get the same answer. Ended tasks are removed after `retention` (7 days).",
            cure=(
                "Check the id. `drumline tasks list` and `drumline jobs list` show what there is.",
                "Check that the key belongs to the right tenant: `drumline keys whoami`.",
                "To keep ended tasks for longer, raise the setting `retention`.",
            ),
            repeat=NO,
            example='curl $URL/api/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057 -H "X-API-Key: $KEY"',
        ),
        "unknown_path": Help(
            cause="The API has no such path. A slash at the end makes another path, too.",
            cure=(
                "`/docs/api` of the server lists all paths; `/openapi.json` has the same for programs.",
                "Check the version: a path of a newer version is unknown to an older server (`/actuator/info`).",
            ),
            repeat=NO,
            example='curl $URL/api/v1/task -H "X-API-Key: $KEY"',
        ),
        "method_not_allowed": Help(
            cause="The path exists, but not with this method. The header `Allow` lists those it takes.",
            cure=("Use one of the methods in `Allow`. `curl -d` sends `POST`; `-X` chooses another.",),
            repeat=NO,
            example='curl -X PUT $URL/api/v1/tasks -H "X-API-Key: $KEY"',
        ),
        "too_slow": Help(
            cause="The body of the request did not arrive in time. The connection is slow, or the client announced more "
            "bytes (`Content-Length`) than it sent.",
            cure=(
                "Send smaller batches over slow connections.",
                "Check that a proxy between client and server does not hold back parts of the body.",
            ),
            repeat="Yes. Nothing was stored.",
        ),
        "conflict": Help(
            cause="The thing exists, but its state does not allow the request: a task that has ended cannot be cancelled, "
            "a name is taken, a run for this fire time exists already.",
            cure=(
                "`detail` says which state it is in. Read it again and decide.",
                "Where the request only repeats one that succeeded, treat the answer as a success.",
            ),
            repeat=NO,
            example='curl -X POST $URL/api/v1/tasks/$ID/retry -H "X-API-Key: $KEY"',
            given="`$ID` is a task that has not ended, so there is nothing to retry.",
            prepare="ID=$(drumline submit shell --arg shell='exit 0' --delay 1h)",
        ),
        "fenced": Help(
            cause="A worker reported about a task whose lease it does not hold any more. Its lease expired, because it sent "
            "no heartbeat for 15 seconds or a person cancelled the task by force, and the task was given to another attempt. "
            "The report is refused, so that a late worker cannot overwrite a newer attempt.",
            cure=(
                "Nothing has to be repaired: the task runs elsewhere or has ended.",
                (
                    "If it happens often, find out why heartbeats are late: event loops blocked by synchronous code, machines "
                    "that are suspended, a connection that drops. `drumline workers list` shows when each worker was last heard of."
                ),
                "A worker of your own stops the attempt and claims the next task.",
            ),
            repeat="No. The worker must drop the attempt.",
        ),
        "unreadable": Help(
            cause="A stored secret cannot be decrypted: the key it was encrypted with is not among the keys of this process "
            "(`secret_key`), or the stored value was changed.",
            cure=(
                "Start every process with the same keys; during a rotation with both, the new one first.",
                "If the key is lost, set the secrets again: `drumline secrets set NAME`.",
            ),
            repeat=NO,
        ),
        "too_large": Help(
            cause="The request, a payload, a result, a file or a secret is larger than allowed. `detail` has both sizes. A "
            "payload may have 1 MiB (`limits.payload`), less where the quota of a tenant says so.",
            cure=(
                "Store large data elsewhere (a file, a row, an object store) and submit a reference to it.",
                "Split a batch: it may have 10,000 tasks, and a request 64 MiB.",
                "An operator can raise the limit: see `limits` in the settings.",
            ),
            repeat=NO,
            example='printf \'{"name": "shell", "payload": "%02000000d"}\' 0 | '
            'curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -d @-',
        ),
        "url_too_long": Help(
            cause="The URL, with its query string, has more bytes than the server accepts (`http.url_bytes` in the settings).",
            cure=(
                "Send long lists in the body: `POST /api/v1/bulk` takes ids and filters.",
                "Give fewer filters, or ask in several requests.",
            ),
            repeat=NO,
            example='curl "$URL/api/v1/tasks?name=$(printf \'%020000d\' 0)" -H "X-API-Key: $KEY"',
        ),
        "unsupported_media_type": Help(
            cause="The header `Content-Type` names something else than JSON, such as XML or a form with files.",
            cure=("Send JSON with `Content-Type: application/json`, or without the header.",),
            repeat=NO,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -H "Content-Type: application/xml" -d "<task/>"',
        ),
        "invalid": Help(
            cause="A field has a value that is not allowed, is missing, or is not known. `field` is its path, such as "
            "`tasks[3].delay`; `detail` says what is wrong, and for an unknown name which one you may have meant.",
            cure=(
                "Correct the field that is named.",
                "`/docs/api` of the server has every field with its type and bounds.",
            ),
            repeat=NO,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -d \'{"name": "shell", "delay": "-5s"}\'',
        ),
        "too_deep": Help(
            cause="The JSON has more levels of nesting than allowed: 100 in a payload.",
            cure=("Flatten the structure, or send it as text in a string.",),
            repeat=NO,
            example='python -c \'print("{\\"name\\": \\"shell\\", \\"payload\\": " + "[" * 200 + "]" * 200 + "}")\' | '
            'curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -d @-',
        ),
        "cycle": Help(
            cause="The tasks of a job need each other in a circle, so none could start. `detail` names them in order.",
            cure=("Remove one of the `needs` that form the circle.",),
            repeat=NO,
            example='curl $URL/api/v1/jobs -H "X-API-Key: $KEY" -d \'{"name": "loop", "tasks": '
            '{"a": {"command": ["date"], "needs": ["b"]}, "b": {"command": ["date"], "needs": ["a"]}}}\'',
        ),
        "duplicate_key": Help(
            cause="An object of the JSON has the same name twice. Parsers disagree about which one counts, so it is refused.",
            cure=("Remove one of them. In a job, give every task a key of its own.",),
            repeat=NO,
            example='curl $URL/api/v1/jobs -H "X-API-Key: $KEY" -d \'{"name": "twice", "tasks": '
            '{"a": {"command": ["date"]}, "a": {"command": ["date"]}}}\'',
        ),
        "too_many": Help(
            cause="A job has more tasks than allowed (10,000), or a payload names too many secrets. `detail` has both numbers.",
            cure=(
                "Split it into several jobs; one can depend on another (`depends_on`), and a task can submit a job.",
                "An operator can raise some of the limits: see `limits` in the settings.",
            ),
            repeat=NO,
            example='python -c \'import json; print(json.dumps({"name": "large", "tasks": {str(n): {"name": "shell"} for n in range(10001)}}))\' | '
            'curl $URL/api/v1/jobs -H "X-API-Key: $KEY" -d @-',
        ),
        "idempotency_key_reused": Help(
            cause="The idempotency key was used before, for a request with another body. The first task is unchanged.",
            cure=(
                "Use a key for one thing only, such as the id of the order, and change it when the content changes.",
                "Send times as fixed values: a body that contains the current time differs at every repetition.",
                "A key is free again when its task is removed, after `retention`.",
            ),
            repeat=NO,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -d \''
            '{"name": "shell", "payload": {"shell": "exit 1"}, "idempotency_key": "order 9"}\'',
            given="The key `order 9` was used before, for a task with another payload.",
            prepare="drumline submit shell --arg shell='exit 0' --key 'order 9' >/dev/null",
        ),
        "headers_too_large": Help(
            cause="The request has more headers, or more bytes of headers, than the server accepts.",
            cure=(
                "Look for large cookies of other applications on the same host; API clients need none.",
                "Check that a proxy does not add headers to a request again and again.",
            ),
            repeat=NO,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -H "X-Reason: $(printf \'%0100000d\' 0)"',
        ),
        "rate_limited": Help(
            cause="The key has sent more requests than its rate allows (100 in 60 seconds, unless configured otherwise), or "
            "too many requests with wrong keys came from this address.",
            cure=(
                "Wait for the seconds in `Retry-After`. The headers `RateLimit` and `RateLimit-Policy` say how much is left.",
                "Submit in batches: `POST /api/v1/tasks/batch` takes 10,000 tasks in one request.",
                "Wait for results with `?wait=30` instead of asking again and again.",
                "Give the key a higher rate: `drumline keys create NAME --rate-limit 1000/60s`.",
            ),
            repeat=LATER,
            example='curl $URL/api/v1/me -H "X-API-Key: $SLOW_KEY"',
            given="`$SLOW_KEY` is a key with the rate `1/60s` that was used a moment ago.",
            prepare="SLOW_KEY=$(drumline keys create slow --role viewer --rate-limit 1/60s --json | "
            "python -c 'import json, sys; print(json.load(sys.stdin)[\"key\"])'); "
            'curl $URL/api/v1/me -H "X-API-Key: $SLOW_KEY" >/dev/null',
        ),
        "quota_exceeded": Help(
            cause="The tenant has as many waiting tasks, schedules or secrets as its quota allows. Nothing was stored.",
            cure=(
                "Wait until tasks have run, then submit again: `drumline queues list` shows how many wait.",
                "Delete schedules or secrets that are not needed.",
                "An administrator of the installation can raise the quota: `drumline tenants change NAME --queued 100000`.",
            ),
            repeat=LATER,
            example='curl $URL/api/v1/tasks -H "X-API-Key: $KEY" -H "X-Tenant: small" -d \'{"name": "shell", "delay": "1h"}\'',
            given="The tenant `small` has a quota of one waiting task, and has that one.",
            prepare="drumline tenants create small --queued 1 >/dev/null; curl $URL/api/v1/tasks "
            '-H "X-API-Key: $KEY" -H "X-Tenant: small" -d \'{"name": "shell", "delay": "1h"}\' >/dev/null',
        ),
        "internal": Help(
            cause="An error in Drumline. The server's log has it under the `request_id` of the reply, which is also in the "
            "header `X-Request-ID`.",
            cure=(
                "Look into the log of the server for `request.failed` with this `request_id`.",
                "Please report it with that part of the log.",
            ),
            repeat=UNKNOWN,
        ),
        "overloaded": Help(
            cause="The server has more requests in progress than it can take, so it refuses new ones instead of growing "
            "without bound. Usually the store is slow or more is submitted than it can write.",
            cure=(
                "Slow down and repeat after `Retry-After`; the SDK does so by itself.",
                "Look at `drumline_store_seconds` and at the runbook for a slow store.",
                "Add API servers, or submit in larger batches.",
            ),
            repeat=LATER,
        ),
        "unavailable": Help(
            cause="The store cannot be reached, refuses connections, or has not the schema of this version; or the server is "
            "stopping. `detail` says which.",
            cure=(
                "Repeat after `Retry-After`: clients of several servers reach another one.",
                "`drumline doctor` on the machine of the server says what is wrong with PostgreSQL, Redis or the schema.",
                "After an upgrade: run `drumline migrate`.",
            ),
            repeat=UNKNOWN,
        ),
        "moved": Help(
            cause="What was submitted has an idempotency key or belongs to a schedule whose slot is on its way from one shard "
            "to another. That takes milliseconds, and longer only if a shard cannot be reached.",
            cure=(
                "Repeat after `Retry-After`; the SDK does so by itself.",
                "If it does not end: `drumline shards list` shows which slots are moving, and which shard is away.",
            ),
            repeat=LATER,
        ),
    }
)
