"""Every command of `drumline` by section: its help line, and where it is imported from when it is called.

The help lines are here so that `drumline --help` imports no command; a test compares them with the commands' own.
"""

from typing import Final

from drumline.cli.parameters import Section

_MODULES: Final = "drumline.cli"


def _section(title: str, *rows: tuple[str, str, str]) -> Section:
    return Section(
        title,
        {name: f"{_MODULES}.{place}" for name, place, _ in rows},
        {name: line for name, _, line in rows},
    )


SECTIONS: Final = (
    _section(
        "Work",
        ("submit", "submitting:submit", "Submit a task and print its id; with --file, submit many."),
        ("watch", "watch_any:watch", "Watch tasks and jobs until they end; several are printed as each ends."),
        ("logs", "watching:logs", "Print the log of a task."),
        (
            "search-logs",
            "log_search:search_logs",
            "Search the logs of many tasks for a text; those of the newest task come first.",
        ),
        ("tasks", "tasks:app", "Submit, list and control tasks."),
        ("jobs", "jobs:app", "Submit, list and control jobs: graphs of tasks."),
        (
            "schedules",
            "schedules:app",
            "Create, list and control schedules, which create tasks or jobs at set times.",
        ),
        ("failures", "failures:app", "List, retry and discard failed tasks."),
        ("bulk", "bulk:app", "List and abort bulk operations."),
        ("views", "views:app", "List, save and delete views: filters of lists under names."),
    ),
    _section(
        "Operate",
        (
            "status",
            "overview:status",
            "Show rates, queues, workers, failures and the longest running tasks in one screen.",
        ),
        ("top", "top:top", "Show the same as status, kept up to date; keys act on queues, failures and tasks."),
        ("queues", "queues:app", "List, pause, resume and purge queues."),
        ("limits", "limits:app", "Limit how many tasks run at once, and how often they start."),
        ("workers", "workers:app", "List, inspect, drain and keep workers."),
        (
            "alerts",
            "alerts:app",
            "Create, list and mute alerts: rules that fire when tasks fail, wait or run too long.",
        ),
        ("slos", "slos:app", "Create and list service level objectives of task types, with their error budgets."),
        ("events", "events:events", "Follow events as they happen."),
        ("consumers", "events:app", "List consumers of the event log, and their lag."),
        ("subscriptions", "notifications:subscriptions", "Subscribe webhooks and mail addresses to events."),
        ("deliveries", "notifications:deliveries", "List deliveries of notifications, and send them again."),
        ("doctor", "doctor:doctor", "Examine this installation and print what to repair."),
    ),
    _section(
        "Administer",
        ("login", "contexts:login", "Log in to a server: check a key there, and keep both as the current context."),
        ("context", "contexts:app", "Choose the server that commands talk to."),
        ("keys", "keys:app", "Create, list, rotate and revoke API keys."),
        ("sign-ins", "keys:sign_ins", "Sign people out of the web interface."),
        ("tenants", "tenants:app", "Create tenants and set their quotas."),
        ("secrets", "secrets:app", "Store secrets for tasks: passwords, tokens, keys."),
        ("audit", "audit:app", "List, export and verify the audit log."),
        ("config", "config:app", "Show, check and change the configuration."),
        ("outbox", "outbox:app", "Create and look at outboxes, where tasks of transactions in other databases wait."),
        ("shards", "shards:app", "Spread an installation over several PostgreSQL databases."),
    ),
    _section(
        "Run",
        ("dev", "servers:dev", "Run everything in one process: API, scheduler, notifier and worker."),
        ("demo", "demo:demo", "Fill every screen with the work of a small shop."),
        ("api", "servers:api", "Run an API server."),
        ("relay", "outbox:relay", "Relay outboxes: store the tasks that wait in databases of programs."),
        ("scheduler", "servers:scheduler", "Run the scheduler's duties; any number of schedulers may run."),
        ("worker", "servers:worker", "Run a worker; without an app it runs the built-in tasks."),
        ("notifier", "servers:notifier", "Run a notifier, which calls webhooks and sends mail."),
        ("migrate", "servers:migrate", "Bring the store's schema to this version."),
        ("backup", "backup:backup", "Copy the SQLite store to a file, while everything runs."),
        ("restored", "backup:restored", "Finish a restore: run it once on a restored store."),
    ),
    _section(
        "Learn",
        ("docs", "docs:docs", "Show the documentation in a browser; it is part of the package."),
        ("migrate-from", "migrate_from:app", "Report what of code for another queue works on Drumline."),
        ("help", "about:show_help", "Show the help of a command."),
        ("completion", "about:completion", "Print the completion script of a shell."),
        ("version", "about:version", "Print the version."),
    ),
)
