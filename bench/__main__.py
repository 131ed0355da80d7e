"""Measure Drumline and its peers on this machine, in one run, and write the results down.

python -m bench                     everything (about half an hour)
python -m bench --quick             Drumline, the limit and the fastest peers, in a few minutes
python -m bench --only huey,celery  these peers beside Drumline
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.embedded import measure_embedded
from bench.limit import measure_limit
from bench.peers import LEFT_OUT, PEERS, QUICK, STEPS, measure_peers, measure_steps
from bench.services import postgres, redis

RESULTS = Path(__file__).parent / "results"
QUICK_PEERS = ("bullmq", "graphile-worker", "pgqueuer", "dbos", "absurd", "huey", "celery")
LIMIT_TASKS = 200_000
CONDITIONS = """{cores} cores shared by everything, Python {python}. PostgreSQL with fsync and synchronous_commit on,
Redis without persistence, two worker processes, one producer. Drumline counts a task when its settlement is
committed; its peers when the task's body has run. End to end is the median of three rounds, with as many single
submissions under way as were measured to be fastest for each (bench/peers.py); "awaiting each" is the same with one at
a time, as the peers' own guides submit."""
COLUMNS = {
    "enqueue_per_s": "enqueue/s",
    "enqueue_concurrent_per_s": "concurrent/s",
    "enqueue_bulk_per_s": "bulk/s",
    "drain_per_s": "drain/s",
    "end_to_end_per_s": "end to end/s",
    "end_to_end_awaited_per_s": "awaiting each/s",
}
RATIOS = {
    "drain_per_s": "Drain",
    "end_to_end_per_s": "End to end",
}


def main() -> None:
    """Measure what the command line asks for, print it and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter measurements, fewer peers")
    parser.add_argument("--only", help="peers, joined by commas; `none` for none")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = _chosen(options.only, quick=options.quick)
    results = _measure(names, quick=options.quick)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    page = render(results)
    (RESULTS / "latest.md").write_text(page, encoding="utf-8")
    sys.stdout.write(page)


def _chosen(only: str | None, *, quick: bool) -> list[str]:
    if only == "none":
        return []
    if only:
        return [name for name in only.split(",") if name != "drumline"]
    return list(QUICK_PEERS) if quick else [name for name in PEERS if name != "drumline"]


def _measure(names: Sequence[str], *, quick: bool) -> dict[str, Any]:
    share = QUICK if quick else 1.0
    began = time.time()
    embedded = measure_embedded(share)
    systems = measure_peers(["drumline", *names], quick)
    steps = measure_steps([name for name in ("drumline", *names) if PEERS[name].durable], quick)
    with postgres() as database, redis() as broker:
        database.recreate("limit")
        _migrate(database.url("limit"))
        limit = measure_limit(database.url("limit"), broker.url, int(LIMIT_TASKS * share))
    return {
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()},
        "load_average_at_start": round(os.getloadavg()[2], 2),
        "embedded": embedded,
        "systems": systems,
        "steps": steps,
        "limit": limit,
    }


def _migrate(url: str) -> None:
    from drumline.lifecycle.processes import run, run_migrate  # noqa: PLC0415 - after the peers, which do not need it
    from drumline.settings import Settings  # noqa: PLC0415
    from drumline.settings.fields import Secret  # noqa: PLC0415

    run(run_migrate(Settings(store_url=Secret(url))))


def render(results: dict[str, Any]) -> str:
    """Return the results as a page of Markdown."""
    systems, limit = results["systems"], results["limit"]
    ours = systems["drumline"]
    lines = [
        f"# Measured {results['measured_at']} by `{results['command']}`",
        "",
        CONDITIONS.format(**results["machine"]),
        "",
        "| system | " + " | ".join(COLUMNS.values()) + " | start p50/p95/p99 ms | idle MB |",
        "|---|" + "---|" * (len(COLUMNS) + 2),
        *(_row(name, result) for name, result in systems.items()),
        _row("limit (no engine)", limit),
        _row("drumline embedded (SQLite, one process)", results["embedded"]),
        "",
    ]
    lines += _costs(systems)
    lines += _steps(results.get("steps", {}))
    lines += [_ratio(ours, systems, key, word) for key, word in RATIOS.items()]
    lines += [_ratio_to_awaited(ours, systems)]
    shares = ", ".join(
        f"{COLUMNS[key]} {ours[key] / limit[key]:.0%}" for key in COLUMNS if limit.get(key) and ours.get(key)
    )
    lines += [f"Share of the limit that the engine reaches: {shares}.", ""]
    lines += ["A lone task's limit is to ask who waits, one durable commit and a message, one after the other.", ""]
    return "\n".join(lines)


def _row(name: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"| {name} | failed: {result['error'][:80]} |" + " |" * (len(COLUMNS) + 1)
    numbers = [f"{result[key]:,.0f}" if result.get(key) else "-" for key in COLUMNS]
    latency = result.get("start_latency_ms")
    spread = " / ".join(str(latency[share]) for share in ("p50", "p95", "p99")) if latency else "-"
    title = f"{name} {result['version']}" if result.get("version") else name
    return f"| {title} | " + " | ".join(numbers) + f" | {spread} | {result.get('idle_rss_mb') or '-'} |"


def _costs(systems: dict[str, Any]) -> list[str]:
    """Return what a task costs from end to end, in all processes together, and what `kill -9` of a worker costs."""
    measured = {name: result for name, result in systems.items() if result.get("processor_us_each")}
    if not measured:
        return []
    return [
        "| system | processor µs per task | WAL bytes | commits | bytes sent | lost by `kill -9` of a worker |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {result['processor_us_each']:,.1f} | {result['wal_bytes_each']:,.0f}"
            f" | {result['commits_each']:.3f} | {result['sent_bytes_each']:,.0f} | {result['on_kill']} |"
            for name, result in measured.items()
        ),
        "",
        "Bytes sent are what all processes sent each other for a task over the loopback address, headers included. "
        "Peers on Redis lose in addition what Redis loses: here it keeps nothing on disk. Not measured: "
        + "; ".join(f"{name} ({reason})" for name, reason in LEFT_OUT.items())
        + ".",
        "",
    ]


def _steps(systems: dict[str, Any]) -> list[str]:
    """Return how fast durable steps are recorded, and what each costs in all processes together."""
    if not systems:
        return []
    ours = systems["drumline"].get("steps_per_s")
    return [
        f"Durable steps, in tasks of {STEPS} steps; one counts when its call has returned, and so is recorded.",
        "",
        "| system | steps/s | processor µs per step | WAL bytes | commits | Drumline's rate by this one's |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | failed: {result['error'][:80]} |" + " |" * 4
            if "error" in result
            else f"| {name} {result['version']} | {result['steps_per_s']:,.0f} | {result['processor_us_each']:,.0f}"
            f" | {result['wal_bytes_each']:,.0f} | {result['commits_each']:.3f}"
            f" | {ours / result['steps_per_s']:.1f}x |"
            for name, result in systems.items()
        ),
        "",
    ]


def _ratio(ours: dict[str, Any], systems: dict[str, Any], key: str, word: str) -> str:
    rates = {name: result[key] for name, result in systems.items() if name != "drumline" and result.get(key)}
    if not rates or not ours.get(key):
        return f"{word}: nothing to compare with."
    fastest = max(rates, key=lambda name: rates[name])
    ratios = ", ".join(
        f"{name} {ours[key] / rate:.1f}x" for name, rate in sorted(rates.items(), key=lambda item: -item[1])
    )
    return f"{word}: {ours[key] / rates[fastest]:.2f}x the fastest peer ({fastest}); {ratios}.\n"


def _ratio_to_awaited(ours: dict[str, Any], systems: dict[str, Any]) -> str:
    """Compare with what the peers do when each submission is awaited before the next; some cannot do otherwise."""
    awaited = {
        name: {"end_to_end_per_s": result.get("end_to_end_awaited_per_s") or result.get("end_to_end_per_s")}
        for name, result in systems.items()
        if name != "drumline"
    }
    return _ratio(ours, awaited, "end_to_end_per_s", "End to end, where the peers await each submission")


if __name__ == "__main__":
    main()
