"""A rule says in words when it fires."""

import pytest

from drumline.core.clock import Instant
from drumline.core.rule_words import in_words
from drumline.core.timetable import Rule


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour"),
        ("15 * * * *", "every hour at minute 15"),
        ("0 */2 * * *", "every 2 hours"),
        ("30 9 * * *", "every day at 09:30"),
        ("30 9 * * 1-5", "on weekdays at 09:30"),
        ("0 8,18 * * SAT,SUN", "on Saturday and Sunday at 08:00 and 18:00"),
        ("0 9 * * TUE-SUN", "on Tuesday to Sunday at 09:00"),
        ("@yearly", "on the 1st of January at 00:00"),
        ("0 0 1-7 * *", "on the 1st to 7th of the month at 00:00"),
        ("0 0 13 * 5", "on the 13th of the month and on Friday at 00:00"),
        ("0 0 29 2 */7", "on the 29th of February if that is on Sunday at 00:00"),
        ("0 9 * * MON#1", "on the first Monday of the month at 09:00"),
        ("0 9 22,L * *", "on the 22nd and last day of the month at 09:00"),
        ("0 9 * * FRIL", "on the last Friday of the month at 09:00"),
        ("0 0 * 6-8 *", "every day in June to August at 00:00"),
        ("* * * 6 *", "every minute in June"),
        ("15,45 9-17 * * MON-FRI", "on weekdays at minutes 15 and 45 from 09:00 to 17:59"),
        ("*/7 * * * *", "every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("*/10 * 9-17 * * *", "every 10 seconds from 09:00 to 17:59"),
        ("*/10 5 * * * *", "every hour at minute 5, every 10 seconds"),
        ("30 5 4 3 2 *", "on the 3rd of February at 04:05:30"),
        ("* 8,20 * * *", "every minute in hours 8 and 20"),
    ],
)
def test_expressions_are_said_as_people_say_them(cron: str, words: str) -> None:
    assert in_words(Rule(cron=cron, timezone="Europe/Berlin")) == f"{words}, Europe/Berlin"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule(interval_ms=1000), "every second"),
        (Rule(interval_ms=90_000), "every 90 seconds"),
        (Rule(interval_ms=7_200_000), "every 2 hours"),
        (Rule(interval_ms=1500), "every 1.5s"),
        (Rule(run_at=Instant(1_700_000_000_000)), "once, at 2023-11-14 22:13:20 UTC"),
    ],
)
def test_so_are_other_rules(rule: Rule, words: str) -> None:
    assert in_words(rule) == words
