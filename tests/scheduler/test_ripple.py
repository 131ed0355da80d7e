"""The net below the ends of jobs: whoever died before passing one on is made good for."""

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.scheduler.ripple import Ripple
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import open_session
from tests.job_factories import claim_keys, job_of, run_all, submit_job


async def test_a_pass_tells_jobs_of_ends_that_nobody_has_passed_on() -> None:
    store = await SqliteStore.open(":memory:", clock=ManualClock())
    engine = Engine(store, NoQueue())
    session = await open_session(store)
    first = await submit_job(store, job_of({"x": ()}))
    await submit_job(store, job_of({"y": ()}, depends_on=(first.id,)))
    await run_all(store, session)  # straight into the store, as by somebody who died right after the commit
    duty = Ripple(engine)

    assert await duty.pass_once() == 1
    assert await duty.pass_once() == 0

    assert list(await claim_keys(store, session)) == ["y"]
    await engine.close()
