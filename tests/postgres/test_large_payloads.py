"""However large the payloads of what is due, an answer to a claim has an end."""

from drumline.core.ids import TaskId
from drumline.core.state import Act
from drumline.ports.store import Settlement
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_request, open_session, submit

TEXT = "x" * 1_000_000
FIT = 16


async def test_what_does_not_fit_into_an_answer_is_left_and_comes_later(store: PostgresStore) -> None:
    submitted = [await submit(store, payload=[TEXT]) for _ in range(FIT + 4)]
    ada = await open_session(store)

    seen: list[TaskId] = []
    sizes: list[tuple[int, int]] = []
    for _ in range(2):
        (answer,) = await store.claim([claim_request(ada, limit=100)])
        await store.settle([Settlement(lease=lease, act=Act.RELEASE) for lease in answer.left])
        sizes.append((len(answer.tasks), len(answer.left)))
        assert all(len(bytes(task.payload)) == len(TEXT) + 4 for task in answer.tasks)
        seen += [task.lease.task for task in answer.tasks]

    assert sizes == [(FIT, 4), (4, 0)]
    assert seen == submitted
    assert [view.attempt for view in await store.queries.get(seen) if view] == [1] * len(submitted)


async def test_small_payloads_come_beside_large_ones(store: PostgresStore) -> None:
    small, large = await submit(store, payload=[1]), await submit(store, payload=[TEXT])

    (answer,) = await store.claim([claim_request(await open_session(store), limit=10)])

    assert [(task.lease.task, len(bytes(task.payload))) for task in answer.tasks] == [(small, 3), (large, 1_000_004)]
    assert answer.left == ()
