"""From the end of a task to somebody's mailbox: readable, harmless, never a storm."""

from html.parser import HTMLParser

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.delivery import ClaimedDelivery, DeliveryId, DeliveryState, NewDelivery
from drumline.core.links import event_link
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act
from drumline.core.target import Target, TargetKind
from drumline.core.task import NotifyTarget
from drumline.notifier.mail_template import MailTemplate, compose_mail
from drumline.outbound.smtp import compose
from drumline.ports.notifications import DeliveryFilter
from drumline.ports.store import LogChunk, Store
from tests.factories import claim, new_id, open_session, settle
from tests.job_factories import job_of, submit_job
from tests.notifier.office import Office
from tests.notifier.postbox import Postbox, texts

ADA = "ada@example.org"
REFUSED = ErrorInfo("PaymentError", "card refused", 'File "shop.py", line 7, in charge\n    raise PaymentError')


async def test_a_failure_is_told_with_all_that_helps(office: Office, postbox: Postbox) -> None:
    task = await office.run(
        Act.FAIL, "charge card", error=REFUSED, queue="billing", notify=(NotifyTarget(email=ADA),), tags=("vip",)
    )

    await office.deliver()

    message = postbox.only()
    assert (message["subject"], message["to"]) == ("Failed: charge card", ADA)
    assert message["from"] == "Drumline <drumline@example.org>"
    delivery = await office.only()
    assert message["message-id"] == f"<{delivery.id}@example.org>"
    for text in texts(message):
        for word in (
            task,
            "billing",
            "vip",
            "Attempt",
            "2.5s",
            "PaymentError: card refused",
            "charging 7 \u20ac",
            "line 7",
        ):
            assert word in text
        assert f"https://drumline.example/drums/ui/tasks/{task}" in text
        assert "2023-11-14T22:13:22.500Z" in text
    assert (delivery.state, delivery.status) == (DeliveryState.DELIVERED, 250)


async def test_a_success_is_told_too(office: Office, postbox: Postbox) -> None:
    await office.subscribe(email=ADA, events=("drumline.task.*",), task="report")
    await office.run(Act.COMPLETE, "other")
    await office.run(Act.COMPLETE, "report")

    await office.deliver()

    message = postbox.only()
    assert message["subject"] == "Completed: report"
    for text in texts(message):
        assert "charging 7 \u20ac" in text, "the last lines of its log"


@pytest.mark.parametrize(
    ("answer", "state", "attempts"),
    [("451 try later", DeliveryState.PENDING, 1), ("550 no such user", DeliveryState.FAILED, 1)],
)
async def test_a_refusal_is_retried_if_it_is_temporary(
    office: Office, postbox: Postbox, answer: str, state: DeliveryState, attempts: int
) -> None:
    postbox.answers = [answer]
    await office.run(Act.FAIL, notify=(NotifyTarget(email=ADA),))

    await office.deliver()

    delivery = await office.only()
    assert (delivery.state, delivery.attempts, delivery.status) == (state, attempts, int(answer[:3]))
    assert answer in (delivery.error or "")


async def test_a_letter_that_cannot_be_written_counts_as_a_try_and_holds_up_nobody(
    office: Office, postbox: Postbox
) -> None:
    broken = {
        "type": "drumline.task.failed",
        "time": "",
        "subject": "x",
        "data": {"started_at": "", "finished_at": "x"},
    }
    await office.store.deliveries.queue_deliveries(
        [
            NewDelivery(
                id=DeliveryId(new_id()),
                tenant="default",
                event_id="1",
                event_type="drumline.task.failed",
                subject="x",
                target=Target(TargetKind.EMAIL, "bob@example.org"),
                event=encode(broken),
            )
        ]
    )
    await office.run(Act.FAIL, notify=(NotifyTarget(email=ADA),))

    await office.deliver()

    assert postbox.only()["to"] == ADA
    told = {each.target.address: each for each in await office.store.deliveries.deliveries(DeliveryFilter(), limit=9)}
    assert told[ADA].state is DeliveryState.DELIVERED
    assert (told["bob@example.org"].state, told["bob@example.org"].attempts) == (DeliveryState.PENDING, 1)
    assert "ValueError" in (told["bob@example.org"].error or "")


async def test_mail_that_was_refused_for_a_while_arrives_once(
    office: Office, postbox: Postbox, clock: ManualClock
) -> None:
    postbox.answers = ["451 try later", "451 try later", "250 OK"]
    await office.run(Act.FAIL, notify=(NotifyTarget(email=ADA),))

    for _ in range(10):
        await office.deliver()
        clock.advance(60)

    assert postbox.only()["subject"] == "Failed: work"
    assert (await office.only()).attempts == 3


async def test_without_a_mail_server_mail_waits_and_says_so(store: Store, clock: ManualClock) -> None:
    office = Office(store, clock, smtp=None)
    await office.run(Act.FAIL, notify=(NotifyTarget(email=ADA),))

    await office.deliver()

    delivery = await office.only()
    assert (delivery.state, delivery.error) == (DeliveryState.PENDING, "there is no mail server: set smtp.host")


async def test_five_hundred_failures_in_a_minute_are_a_few_letters(
    office: Office, postbox: Postbox, clock: ManualClock
) -> None:
    await office.subscribe(email=ADA)
    for second in range(50):
        await office.fail_many([f"task {(second + number) % 7}" for number in range(10)])
        await office.deliver()
        clock.advance(1)
    for _ in range(10):
        clock.advance(60)
        await office.deliver()

    assert 2 <= len(postbox.messages) <= 5
    told = sum(int((message["subject"]).partition(" ")[0]) for message in postbox.messages)
    assert told == 500
    largest = postbox.messages[-1]
    text, html = texts(largest)
    assert largest["subject"].endswith(" and 4 more")
    assert " more." in text
    assert len(html) < 100_000
    assert {each.state for each in await office.deliveries()} == {DeliveryState.DELIVERED}


async def test_a_digest_tells_the_worst_first(office: Office, postbox: Postbox) -> None:
    await office.subscribe(email=ADA, events=("drumline.task.*",))
    await office.run(Act.COMPLETE, "calm")
    await office.run(Act.FAIL, "storm", error=REFUSED)

    await office.deliver()

    message = postbox.only()
    assert message["subject"] == "1 failed, 1 completed: calm, storm"
    text, _ = texts(message)
    assert text.index("Failed: storm") < text.index("Completed: calm")
    assert "PaymentError: card refused" in text


class Tags(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.seen.update(name for name, _ in attrs)
        self.links.update(value or "" for name, value in attrs if name in {"href", "src"})


OURS = {
    "html", "lang", "head", "meta", "charset", "name", "content", "title", "body", "style", "div", "h1", "h2", "p", "a",
    "href", "table", "tr", "td", "pre",
}  # fmt: skip
EVIL = '<script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover="x" </pre><a href="javascript:x">'


@pytest.mark.parametrize("count", [1, 3])
async def test_no_word_of_others_becomes_html_or_a_header(office: Office, postbox: Postbox, count: int) -> None:
    await office.subscribe(email=ADA)
    error = ErrorInfo(f"Evil\r\nBcc: eve@example.org {EVIL}", f"a\nBcc: eve@example.org\n\n{EVIL}", EVIL)
    for _ in range(count):
        await office.run(Act.FAIL, EVIL, error=error, tags=(EVIL[:60],))

    await office.deliver()

    message = postbox.only()
    assert message["bcc"] is None
    assert {name.lower() for name in message} <= {
        "subject", "from", "to", "date", "message-id", "mime-version", "content-type", "x-peer", "x-mailfrom",
        "x-rcptto",
    }  # fmt: skip
    _, html = texts(message)
    tags = Tags()
    tags.feed(html)
    assert tags.seen <= OURS
    assert all(link.startswith("https://drumline.example/drums/ui/") for link in tags.links)


async def test_a_letter_fits_a_phone_and_loads_nothing(office: Office, postbox: Postbox) -> None:
    await office.run(Act.FAIL, error=REFUSED, notify=(NotifyTarget(email=ADA),))

    await office.deliver()

    _, html = texts(postbox.only())
    assert 'name="viewport" content="width=device-width,initial-scale=1"' in html
    assert "max-width:600px" in html
    assert "white-space:pre-wrap" in html
    assert "src=" not in html
    assert "@import" not in html


async def test_a_long_name_does_not_make_a_long_subject(office: Office, postbox: Postbox) -> None:
    await office.run(Act.FAIL, "n" * 255, notify=(NotifyTarget(email=ADA),))

    await office.deliver()

    assert len(postbox.only()["subject"]) == 150


async def test_a_job_is_told_when_it_is_complete(office: Office, postbox: Postbox, clock: ManualClock) -> None:
    job = await submit_job(office.store, job_of(name="nightly", owner="ada", notify=(NotifyTarget(email=ADA),)))
    session = await open_session(office.store)
    for _ in range(3):
        await office.deliver()
        assert postbox.messages == [], "not before its last task has ended"
        for task in await claim(office.store, session):
            key = task.options.key
            await office.store.outputs.append_log(
                [LogChunk(task=task.lease.task, epoch=1, seq=0, text=f"log of {key}\n")]
            )
            clock.advance(1)
            await settle(office.store, task.lease, Act.COMPLETE)

    await office.deliver()

    message = postbox.only()
    assert message["subject"] == "Completed: nightly"
    for text in texts(message):
        for word in (
            job.id,
            "ada",
            "4 total, 4 completed",
            f"https://drumline.example/drums/ui/jobs/{job.id}",
            "log of d",
        ):
            assert word in text


async def test_a_failed_job_names_its_failed_tasks_with_error_log_and_link(
    office: Office, postbox: Postbox, clock: ManualClock
) -> None:
    needs: dict[str, tuple[str, ...]] = {"fetch": (), "charge": (), "mail": ("charge",)}
    job = await submit_job(office.store, job_of(needs, name="nightly", notify=(NotifyTarget(email=ADA),)))
    session = await open_session(office.store)
    for task in await claim(office.store, session):
        key = task.options.key
        await office.store.outputs.append_log([LogChunk(task=task.lease.task, epoch=1, seq=0, text=f"log of {key}\n")])
        clock.advance(1)
        failure = {"error": REFUSED} if key == "charge" else {}
        await settle(office.store, task.lease, Act.FAIL if failure else Act.COMPLETE, **failure)

    await office.deliver()

    message = postbox.only()
    assert message["subject"] == "Failed: nightly"
    charged = job.tasks["charge"]
    for text in texts(message):
        for word in ("Failed task: charge", charged, "PaymentError: card refused", "log of charge"):
            assert word in text
        assert f"https://drumline.example/drums/ui/tasks/{charged}" in text
        assert f"https://drumline.example/drums/ui/jobs/{job.id}" in text
        assert "log of fetch" not in text, "it did not fail"
        assert "Failed task: mail" not in text, "it was skipped"


async def test_a_job_with_many_failures_names_the_first_ten(office: Office, postbox: Postbox) -> None:
    keys = [f"part-{number:02}" for number in range(13)]
    await submit_job(office.store, job_of(dict.fromkeys(keys, ()), name="nightly", notify=(NotifyTarget(email=ADA),)))
    session = await open_session(office.store)
    for task in await claim(office.store, session, limit=20):
        await settle(office.store, task.lease, Act.FAIL)

    await office.deliver()

    text, _ = texts(postbox.only())
    assert [f"Failed task: {key}" in text for key in keys] == [True] * 10 + [False] * 3
    assert "And 3 more failed tasks." in text


async def test_a_job_that_failed_is_told_to_those_who_subscribed_by_its_name_or_tag(
    office: Office, postbox: Postbox
) -> None:
    await office.subscribe(email=ADA, job="nightly", tag="vip")
    for tags in ((), ("vip",)):
        await submit_job(office.store, job_of({"a": ()}, name="nightly", tags=tags))
    session = await open_session(office.store)
    for task in await claim(office.store, session):
        await settle(office.store, task.lease, Act.FAIL)

    await office.deliver()

    assert postbox.only()["subject"] == "Failed: nightly"


def test_no_name_breaks_the_subject_in_two() -> None:
    event = {
        "type": "drumline.worker.reaped",
        "time": "t",
        "subject": "w-1",
        "data": {"name": "a\r\nBcc: eve@b.c\x00\u2028"},
    }
    delivery = ClaimedDelivery(
        id=DeliveryId("d"), tenant="default", event_id="e", event_type="drumline.worker.reaped",
        target=Target(TargetKind.EMAIL, ADA), event=encode(event), attempt=1, now=Instant(0),
    )  # fmt: skip

    letter = compose_mail([delivery], MailTemplate())

    assert letter.subject == "Reaped: a Bcc: eve@b.c"
    assert compose(letter, sender="drumline@example.org")["bcc"] is None


@pytest.mark.parametrize(
    ("public_url", "page"),
    [
        ("https://drums.example", "https://drums.example/ui/tasks/t-1"),
        ("https://drums.example/", "https://drums.example/ui/tasks/t-1"),
        ("https://drums.example/ui", "https://drums.example/ui/tasks/t-1"),
        ("https://drums.example/base/ui/", "https://drums.example/base/ui/tasks/t-1"),
        ("https://drums.example/base", "https://drums.example/base/ui/tasks/t-1"),
        (None, None),
    ],
)
def test_a_link_opens_the_page_of_the_interface_however_the_address_is_given(
    public_url: str | None, page: str | None
) -> None:
    assert event_link(public_url, "drumline.task.failed", "t-1") == page
    assert event_link(public_url, "drumline.worker.reaped", "w-1") is None
