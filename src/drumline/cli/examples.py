"""The examples in the help of each command; `tests/cli/test_examples.py` runs them.

Ids stand for those of the reader: the test replaces them. They are short where a command takes shortened ids.
"""

from collections.abc import Sequence
from typing import Final

MOST_OF_A_GROUP: Final = 4

PROGRAM: Final = (
    "drumline dev",
    "drumline submit shell --arg shell='echo hello' --wait",
    "drumline tasks list --status failed --since 2h",
    "drumline --context prod status",
)
"""Those in the help of the program itself."""

_LINES: Final = """\
drumline submit shell --arg shell='echo hello' --wait
drumline submit http --payload '{"url": "https://example.com"}' --delay 10m --key nightly-ping
drumline submit --file tasks.jsonl
drumline watch c3c0c9f4
drumline watch c3c0c9f4 8ab1d2e7 --json
drumline logs 8ab1d2e7
drumline logs 8ab1d2e7 --tail 20 --timestamps
drumline search-logs 'connection refused' --since 2h
drumline search-logs --level error --name charge --jsonl
drumline search-logs timeout --filter 'status:failed -queue:bulk' --limit 20
drumline tasks submit shell --arg shell='echo hello' --queue reports --priority high
drumline tasks watch c3c0c9f4 --exit-status
drumline tasks logs c3c0c9f4 --since 1h
drumline tasks cancel f00dcafe --yes
drumline tasks cancel --queue newsletter --status queued --dry-run
drumline tasks cancel --filter 'name:charge* payload.order_id=17' --yes
drumline tasks retry 8ab1d2e7
drumline tasks retry --status failed --error 'timed out' --since 2h --dry-run
drumline tasks reschedule f00dcafe --delay 1h
drumline tasks reschedule --queue reports --at 'tomorrow 06:00' --priority low --yes
drumline tasks signal f00dcafe approved --payload '{"by": "ada"}'
drumline tasks fork 5ca1ab1e --from charge
drumline tasks fork 5ca1ab1e --from charge --payload '{"order_id": 18}'
drumline tasks replay 5ca1ab1e app.py
drumline tasks timeline 8ab1d2e7
drumline tasks artifacts c3c0c9f4
drumline tasks download c3c0c9f4 report.csv --output november.csv
drumline tasks why f00dcafe
drumline tasks children 5ca1ab1e
drumline tasks steps 5ca1ab1e
drumline tasks list --status failed --since 2h
drumline tasks list --filter 'name:charge* -queue:bulk duration>5s' --sort duration
drumline tasks list --queue reports -o name
drumline tasks list --json --jq '.[].id'
drumline tasks search-logs 'connection refused' --queue reports --since 2h
drumline tasks export --since 24h --format jsonl
drumline tasks export --status failed --file failed.csv
drumline tasks counts --queue reports
drumline tasks get 8ab1d2e7
drumline tasks get 8ab1d2e7 --json --attempts
drumline jobs submit job.json --dry-run
drumline jobs submit job.json --key close-2026-11 --wait
drumline jobs graph 51f0aa7b
drumline jobs graph 51f0aa7b --mermaid
drumline jobs watch 51f0aa7b
drumline jobs logs 51f0aa7b --failed
drumline jobs logs 51f0aa7b --key extract --timestamps
drumline jobs timeline 51f0aa7b
drumline jobs list --status failed --since 24h
drumline jobs get 51f0aa7b
drumline jobs why 51f0aa7b
drumline jobs cancel 51f0aa7b --dry-run
drumline jobs resume 51f0aa7b --dry-run
drumline schedules create nightly --cron '30 2 * * *' --tz Europe/Berlin --task shell --arg shell='echo hello'
drumline schedules create heartbeat --every 15s --task shell --arg shell='echo alive' --paused
drumline schedules edit nightly --cron '0 3 * * *'
drumline schedules list
drumline schedules get nightly
drumline schedules next nightly --count 5
drumline schedules preview '30 2 * * *' --tz Europe/Berlin --after 2026-03-27
drumline schedules pause nightly
drumline schedules resume nightly
drumline schedules run nightly
drumline schedules backfill nightly --from 2026-11-01 --to 2026-11-07 --dry-run
drumline schedules backfill nightly --from 2026-11-01 --to 2026-11-03 --wait --yes
drumline schedules runs nightly
drumline schedules delete heartbeat --yes
drumline failures ack b07f4d7e8a99 --owner ada --note 'the provider is down'
drumline failures resolve b07f4d7e8a99 --note 'fixed in 1.4.2'
drumline failures ignore b07f4d7e8a99 --until 24h
drumline failures reopen b07f4d7e8a99
drumline failures list --since 24h
drumline failures list --fingerprint b07f4d7e8a99
drumline failures groups
drumline failures groups --by-count
drumline failures groups --filter 'count>1 -queue:bulk' --since 24h
drumline failures show b07f4d7e8a99
drumline failures show 8ab1d2e7
drumline failures retry --fingerprint b07f4d7e8a99 --dry-run
drumline failures retry --fingerprint b07f4d7e8a99 --first 5 --yes
drumline failures discard --name shell --since 1h --dry-run
drumline failures discard --filter 'name:shell attempts<3' --dry-run
drumline failures purge --older-than 30d --yes
drumline bulk list
drumline bulk get b01dface-0000-7000-8000-000000000001
drumline bulk watch b01dface-0000-7000-8000-000000000001
drumline bulk abort b01dface-0000-7000-8000-000000000002 --yes
drumline views list
drumline views save 'failed reports' --page tasks --filter 'queue:reports status:failed'
drumline views delete 'failed reports' --page tasks
drumline status
drumline status --json
drumline top
drumline top --every 5
drumline queues list
drumline queues get reports
drumline queues purge reports --dry-run
drumline queues pause reports --reason 'the database is being moved'
drumline queues resume reports
drumline limits list
drumline limits set payments --task charge --rate 20/s
drumline limits set one-by-one --queue reports --max-concurrent 1
drumline limits get payments
drumline limits delete payments
drumline workers list
drumline workers get w-00c0ffee00c0ffee
drumline workers drain w-00c0ffee00c0ffee --yes
drumline workers undrain w-00c0ffee00c0ffee
drumline alerts create many-failures --on failure_rate --above 5% --window 10m --task shell
drumline alerts list --state firing
drumline alerts history many-failures
drumline alerts get many-failures
drumline alerts edit many-failures --above 10%
drumline alerts mute many-failures --until 2h
drumline alerts unmute many-failures
drumline alerts pause many-failures
drumline alerts resume many-failures
drumline alerts delete many-failures --yes
drumline slos create shell-on-time --task shell --target 0.999 --start-within 30s
drumline slos list
drumline slos get shell-on-time
drumline slos edit shell-on-time --target 0.99
drumline slos delete shell-on-time --yes
drumline events --count 3
drumline events --type task.failed --queue reports
drumline consumers list
drumline consumers forget old-reader --yes
drumline subscriptions list
drumline subscriptions get 5ab5c21b
drumline subscriptions create failures --webhook https://example.com/hook --on task.failed
drumline subscriptions create reports --email ada@example.com --queue reports
drumline subscriptions change 5ab5c21b --queue reports
drumline subscriptions enable 5ab5c21b
drumline subscriptions disable 5ab5c21b
drumline subscriptions test 5ab5c21b
drumline subscriptions rotate 5ab5c21b
drumline subscriptions rm 5ab5c21b --yes
drumline deliveries list --state failed
drumline deliveries get de11ce7e
drumline deliveries resend de11ce7e
drumline doctor
drumline doctor --strict
drumline login https://drumline.example.com --name prod --production
drumline context list
drumline context show
drumline context use prod
drumline context remove staging
drumline keys create ci --role operator --expires-in 90d
drumline keys create reports-worker --role worker --queue reports
drumline keys list
drumline keys get ce11f00d
drumline keys disable ce11f00d
drumline keys enable ce11f00d
drumline keys revoke ce11f00d --yes
drumline keys rotate ce11f00d --overlap 1h
drumline keys whoami
drumline sign-ins revoke key:ce11f00d --yes
drumline tenants create acme --queued 100000
drumline tenants list
drumline tenants get acme
drumline tenants change acme --weight 2
drumline secrets set smtp-password --file password.txt
drumline secrets list
drumline secrets delete smtp-password --yes
drumline secrets rotate
drumline secrets new-key
drumline audit list --since 24h
drumline audit list --act queue.pause
drumline audit export --file audit.jsonl
drumline audit verify
drumline config show
drumline config check --config drumline.yaml
drumline config docs worker.concurrency
drumline config set worker.concurrency=32
drumline config unset worker.concurrency
drumline config get
drumline config history
drumline outbox install postgresql://app@db/shop
drumline outbox show postgresql://app@db/shop
drumline outbox retry postgresql://app@db/shop
drumline shards list
drumline shards get pg2
drumline shards add pg2 --store-url postgresql://drumline@db2/drumline
drumline shards change pg2 --store-url postgresql://drumline@db3/drumline
drumline shards move --evenly
drumline shards move --from pg2 --to pg3 --slots 128
drumline shards drain pg2
drumline shards keep pg2
drumline shards remove pg2 --yes
drumline dev
drumline dev app.py --reload --port 8081
drumline demo --rate 5 --for 10m
drumline api --host 0.0.0.0 --port 8080
drumline relay postgresql://app@db/shop --tenant default
drumline scheduler --config drumline.yaml
drumline worker app.py --concurrency 32 --queue reports
drumline notifier --config drumline.yaml
drumline migrate
drumline migrate status
drumline migrate --sql
drumline backup drumline-backup.db
drumline restored
drumline docs
drumline docs how-to/schedules --text
drumline migrate-from celery src
drumline help tasks list
drumline completion bash
drumline completion fish
drumline version
"""


def examples_of(path: Sequence[str]) -> list[str]:
    """Return the examples of a command, or all of a group."""
    begins = ["drumline", *path]
    return [line for line in _LINES.splitlines() if line.split()[: len(begins)] == begins]


def examples_of_group(path: Sequence[str]) -> list[str]:
    """Return the first examples of the first commands of a group."""
    first = {line.split()[len(path) + 1]: line for line in reversed(examples_of(path))}
    return sorted(first.values(), key=_LINES.index)[:MOST_OF_A_GROUP] if path else list(PROGRAM)


def all_examples() -> list[str]:
    """Return every example."""
    return [*PROGRAM, *_LINES.splitlines()]
