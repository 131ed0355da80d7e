"""What the facts about PostgreSQL and Redis mean. Pure."""

from collections.abc import Iterator
from typing import Final

from drumline.core.doctor_report import Finding, PostgresFacts, RedisFacts
from drumline.lifecycle.doctor.findings import note, ok, problem, warning

OLDEST_POSTGRES: Final = 140_000
OLDEST_REDIS: Final = (6, 2)
SKEW_WARNING_MS: Final = 1_000
SKEW_PROBLEM_MS: Final = 10_000
LONG_SECONDS: Final = 300.0
IDLE_SECONDS: Final = 60.0
FULL: Final = 0.8
MOST_DEAD: Final = 100_000
CONNECTIONS_NEEDED: Final = 24
"""What one process opens at most."""


def judge_clock(whose: str, milliseconds: int) -> Finding:
    """Judge how far a server's clock is from this machine's."""
    distance = abs(milliseconds)
    text = (
        f"the clock of {whose} is {distance / 1000:.1f} s {'ahead of' if milliseconds > 0 else 'behind'} this machine's"
    )
    advice = "Let NTP or chrony set the clocks of all machines. The store's clock decides what is due."
    if distance >= SKEW_PROBLEM_MS:
        return problem("clock", text, advice)
    if distance >= SKEW_WARNING_MS:
        return warning("clock", text, advice)
    return ok("clock", f"the clock of {whose} is {distance} ms from this machine's")


def judge_postgres(facts: PostgresFacts, *, known: frozenset[int], major: int) -> Iterator[Finding]:
    """Judge a PostgreSQL server; `known` are the migrations that this version needs, `major` is the schema's."""
    yield _version(facts)
    yield from _pooling(facts)
    if facts.is_by_statement:
        return  # nothing else can be asked
    yield judge_clock("PostgreSQL", facts.clock)
    yield from _durability(facts)
    yield from _vacuum(facts)
    yield from _transactions(facts)
    yield _connections(facts)
    yield _schema(facts, known, major)
    if known <= set(facts.applied):
        yield _wall(facts)


def _wall(facts: PostgresFacts) -> Finding:
    if facts.wall is None:
        return ok("postgres.wall", "the database keeps tenants apart too")
    return warning(
        "postgres.wall",
        f"the database does not keep tenants apart: {facts.wall}",
        "Let an administrator make the role, as docs/how-to/second-wall.md says, then run drumline migrate.",
    )


def _version(facts: PostgresFacts) -> Finding:
    shown = f"{facts.version // 10_000}.{facts.version % 10_000}"
    if facts.version < OLDEST_POSTGRES:
        return warning(
            "postgres.version", f"PostgreSQL {shown} is older than what is tested", "Upgrade to 14 or newer."
        )
    return ok("postgres.version", f"PostgreSQL {shown}")


def _durability(facts: PostgresFacts) -> Iterator[Finding]:
    advice = "Set it to on, and reload the server: until then a power cut can take back tasks that were acknowledged"
    harmless = True
    for name, worst in (("fsync", "and damage the database"), ("full_page_writes", "and damage the database")):
        if facts.settings.get(name) == "off":
            harmless = False
            yield problem(f"postgres.{name}", f"{name} is off", f"{advice}, {worst}.")
    if facts.settings.get("synchronous_commit") == "off":
        harmless = False
        yield problem("postgres.synchronous_commit", "synchronous_commit is off", f"{advice}.")
    if facts.is_standby or facts.settings.get("default_transaction_read_only") == "on":
        harmless = False
        yield problem("postgres.read_only", "the server takes no writes", "Name the primary server in store_url.")
    if harmless:
        yield ok("postgres.durability", "what is acknowledged is on disk")


def _pooling(facts: PostgresFacts) -> Iterator[Finding]:
    if facts.is_by_statement:
        advice = "Set pool_mode = transaction in PgBouncer: nothing works by statement."
        yield problem("postgres.pooler", "the pooler in between takes transactions apart", advice)
    elif facts.is_pooled:
        yield note("postgres.pooler", "a pooler stands in between", "Plans are not kept: a direct address is faster.")
    timeout = int(facts.settings.get("statement_timeout", "0"))
    if 0 < timeout < 30_000:
        advice = "Give Drumline's user a longer one: ALTER ROLE … SET statement_timeout = '60s'."
        yield warning("postgres.statement_timeout", f"statement_timeout is {timeout} ms", advice)


def _vacuum(facts: PostgresFacts) -> Iterator[Finding]:
    if facts.settings.get("autovacuum") == "off" or facts.settings.get("track_counts") == "off":
        advice = "Set autovacuum and track_counts to on: claims get slower with every task that has ended."
        yield problem("postgres.autovacuum", "autovacuum is off", advice)
    for table in facts.tables:
        if not table.is_vacuumed:
            fix = f"ALTER TABLE drumline.{table.name} RESET (autovacuum_enabled);"
            yield problem("postgres.autovacuum", f"autovacuum is off for {table.name}", fix)
        if table.dead > MOST_DEAD and table.dead > 2 * table.live:
            advice = "Look for long transactions below; then VACUUM the table."
            yield warning("postgres.dead_rows", f"{table.name} has {table.dead:,} dead rows", advice)


def _transactions(facts: PostgresFacts) -> Iterator[Finding]:
    for each in facts.transactions:
        is_idle = each.state.startswith("idle in transaction")
        if each.seconds >= (IDLE_SECONDS if is_idle else LONG_SECONDS):
            text = f"a transaction of {each.program} (pid {each.pid}) is open for {each.seconds:.0f} s, {each.state}"
            advice = (
                "Nothing that died since can be vacuumed. End it, or SELECT pg_terminate_backend"
                f"({each.pid}); and set idle_in_transaction_session_timeout."
            )
            yield warning("postgres.long_transaction", text, advice)


def _connections(facts: PostgresFacts) -> Finding:
    most = int(facts.settings.get("max_connections", "100"))
    free = most - int(facts.settings.get("superuser_reserved_connections", "3")) - facts.connections
    text = f"{facts.connections} of {most} connections are in use"
    if free < CONNECTIONS_NEEDED or facts.connections > FULL * most:
        advice = f"A process opens up to {CONNECTIONS_NEEDED}. Raise max_connections, or put PgBouncer in between."
        return warning("postgres.connections", text, advice)
    return ok("postgres.connections", text)


def _schema(facts: PostgresFacts, known: frozenset[int], major: int) -> Finding:
    if not facts.applied:
        return problem("schema", "the database has no schema", "Run `drumline migrate`.")
    if facts.major is not None and facts.major > major:
        return problem("schema", f"the schema is of major {facts.major}", "Upgrade this Drumline: it cannot read it.")
    if missing := sorted(known.difference(facts.applied)):
        advice = "Run `drumline migrate`; processes of the old version go on working."
        numbers = ", ".join(map(str, missing))
        return problem("schema", f"the schema lacks what this version needs (migrations {numbers})", advice)
    if unknown := sorted(set(facts.applied) - known):
        return note("schema", f"the schema is newer than this version (migration {unknown[-1]})", "Upgrade soon.")
    return ok("schema", f"the schema is at {max(facts.applied)}")


def judge_redis(facts: RedisFacts, *, is_cluster: bool) -> Iterator[Finding]:
    """Judge a Redis server; `is_cluster` is whether the settings say that it is one of a cluster."""
    yield judge_clock("Redis", facts.clock)
    shown = ".".join(map(str, facts.version))
    if facts.version < OLDEST_REDIS:
        yield problem("redis.version", f"Redis {shown} is too old", "Upgrade to 6.2 or newer.")
    else:
        yield ok("redis.version", f"Redis {shown}")
    if facts.policy and facts.policy != "noeviction":
        advice = (
            "CONFIG SET maxmemory-policy noeviction, and in its file: an evicted key costs a refill, over and over."
        )
        yield problem("redis.eviction", f"maxmemory-policy is {facts.policy}", advice)
    if facts.most_memory and facts.memory > FULL * facts.most_memory:
        advice = "Raise maxmemory: when it is full, the queue falls back to PostgreSQL and is slower."
        share = 100 * facts.memory // facts.most_memory
        yield warning("redis.memory", f"{share} % of maxmemory is in use", advice)
    if facts.role not in {"master", "primary"}:
        yield problem("redis.role", f"the server is a {facts.role}", "Name the primary in queue_url.")
    if facts.is_cluster and not is_cluster:
        yield problem("redis.cluster", "the server is part of a cluster", "Write queue_url as redis+cluster://….")
