"""Runs all checks of `drumline doctor` and collects their findings."""

import asyncio
import time
from email.utils import parsedate_to_datetime
from typing import Final

import urllib3

from drumline.core.doctor_report import Finding
from drumline.core.errors import DrumlineError
from drumline.lifecycle.data_folder import with_stored_key
from drumline.lifecycle.doctor.findings import ok, problem
from drumline.lifecycle.doctor.fleet import examine_fleet
from drumline.lifecycle.doctor.machine import examine_machine, examine_settings
from drumline.lifecycle.doctor.services import judge_clock, judge_postgres, judge_redis
from drumline.lifecycle.processes import opened
from drumline.settings import Settings, Sources
from drumline.stores.sql_files import migrations

ANSWER_SECONDS: Final = 30.0
DATE_SECONDS: Final = 2.0


async def examine(sources: Sources) -> list[Finding]:
    """Return the findings of all checks. A service that cannot be reached is a finding, never an error."""
    findings = list(examine_settings(sources))
    try:
        settings = sources.load().settings
    except DrumlineError:
        return findings  # it was named above
    findings += examine_machine(settings)
    if settings.url is not None:
        return findings + await asyncio.to_thread(_server, settings)
    findings += await _redis(settings)
    is_there, found = await _store(settings)
    findings += found
    if is_there:
        findings += await _fleet(settings)
    return findings


async def _store(settings: Settings) -> tuple[bool, list[Finding]]:
    """Return whether the store can be opened, and what was found about its server and those of other shards."""
    if settings.sqlite_path is not None:
        is_there = settings.sqlite_path.exists()
        text = f"the store is {settings.sqlite_path}" if is_there else "nothing is stored yet"
        return is_there, [ok("store", text)]
    from drumline.stores.postgres.examining import examine_postgres  # noqa: PLC0415 - a driver that not all have
    from drumline.stores.postgres.migrating import MAJOR  # noqa: PLC0415

    try:
        facts = await examine_postgres(str(settings.store_url).replace("postgres://", "postgresql://", 1))
    except DrumlineError as error:
        advice = (
            "See that it runs, and that store_url (DRUMLINE_STORE_URL) names it: address, user, password and database."
        )
        return False, [problem("store", error.message, advice)]
    known = frozenset(number for number, _, _ in migrations("drumline.stores.postgres"))
    can_be_used = known <= set(facts.applied) and not facts.is_by_statement
    findings = list(judge_postgres(facts, known=known, major=MAJOR))
    if can_be_used:
        from drumline.lifecycle.doctor.asking_shards import examine_shards  # noqa: PLC0415 - it has the driver

        findings += await examine_shards(settings, facts, known)
    return can_be_used, findings


async def _redis(settings: Settings) -> list[Finding]:
    if settings.queue_url is None:
        return []
    from drumline.redis.examining import examine_redis  # noqa: PLC0415 - a driver that not all have

    try:
        facts = await examine_redis(settings.queue_url)
    except DrumlineError as error:
        advice = "See that it runs: until then everything is slower, and nothing is lost."
        return [problem("redis", error.message, advice)]
    return list(judge_redis(facts, is_cluster="+cluster" in settings.queue_url))


async def _fleet(settings: Settings) -> list[Finding]:
    try:
        async with asyncio.timeout(ANSWER_SECONDS), opened(settings) as wired:
            return [finding async for finding in examine_fleet(wired.engine.store)]
    except (DrumlineError, TimeoutError) as error:
        return [problem("store", f"the store cannot be read: {error}", "See what stands above.")]


def _server(settings: Settings) -> list[Finding]:
    """Examine the server that a remote worker or a client talks to."""
    url = str(settings.url).rstrip("/")
    key = with_stored_key(settings).api_key
    headers = {"X-API-Key": str(key)} if key else {}
    began = time.time()
    try:
        reply = urllib3.request("GET", f"{url}/api/v1/me", headers=headers, timeout=10, retries=False)
    except urllib3.exceptions.HTTPError as error:
        return [
            problem("server", f"{url} does not answer: {error}", "See that it runs, and that this machine gets there.")
        ]
    findings = []
    if reply.status == 401:
        findings.append(problem("server", f"{url} does not take the API key", "Set DRUMLINE_API_KEY."))
    elif reply.status >= 400:
        advice = "See what stands between here and there, and what the server logs."
        findings.append(problem("server", f"{url} answers with status {reply.status}", advice))
    else:
        findings.append(ok("server", f"{url} answers, and takes the API key"))
    if date := reply.headers.get("Date"):
        distance = dated_distance(parsedate_to_datetime(date).timestamp(), began, time.time())
        findings.append(judge_clock("the server", round(distance * 1000)))
    return findings


def dated_distance(date: float, began: float, ended: float) -> float:
    """Return by how much a server's clock is off at least, given the date of its answer and when that was asked for.

    A date is cut to the second, and servers write it anew once a second: it is up to two seconds old.
    """
    least, most = date - ended, date + DATE_SECONDS - began
    return least if least > 0 else min(most, 0.0)
