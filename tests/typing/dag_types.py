"""What type checkers see of jobs. Never run: `mypy` reads it in `make check`, pyright in `test_pyright.py`.

Each planted mistake carries the error that it must cause; one that goes unnoticed makes the ignore unused, which is an
error too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_type

from drumline import (
    AttemptInfo,
    Chain,
    Context,
    Dag,
    Drumline,
    JobHandle,
    JobInfo,
    JobStatus,
    Node,
    NodeInfo,
    TaskHandle,
    inject,
)


@dataclass
class Invoice:
    cents: int


class Paid(Invoice): ...


app = Drumline("app")


@app.task
async def charge(order: int, *, ctx: Context[None] = inject()) -> Invoice:
    return Invoice(order + ctx.attempt)


@app.task
def pay(order: int) -> Paid:
    return Paid(order)


@app.task
def receipts(invoices: list[Invoice], *, ctx: Context[None] = inject()) -> int:
    return len(invoices) + ctx.attempt


@app.task
def mail(invoice: Invoice, copy: str = "") -> str:
    return f"{invoice.cents} {copy}"


@app.task
def note(invoice: Invoice | None) -> bool:
    return invoice is not None


@app.task
def total(amounts: Sequence[int]) -> float:
    return sum(amounts)


@app.task
def listed(day: str) -> list[int]:
    return [len(day)]


@dataclass
class Page:
    rows: list[int]


@app.task
def pages(number: int) -> Page:
    return Page([number])


# What a node gives back is known, and the wiring is checked like any call.
with app.dag("checkout", owner="shop", key="once", depends_on=["id"], retries=5, tags=["a"]) as dag:
    assert_type(dag, Dag)
    one = dag.add(charge, 1)
    assert_type(one, Node[Invoice])
    assert_type(one.out, Invoice)
    assert_type(one.out.cents, int)
    many = dag.map(charge, [1, 2, 3])
    assert_type(many, Node[list[Invoice]])
    assert_type(dag.add(receipts, many.out), Node[int])
    assert_type(dag.add(receipts, [one.out, many.out[0]]), Node[int])
    assert_type(dag.map(mail, many.out), Node[list[str]])
    assert_type(dag.map(mail, many.out, copy="boss"), Node[list[str]])
    assert_type(dag.add(mail.options(queue="mail"), one.out, "boss"), Node[str])
    assert_type(dag.options(key="last", after=[one, many], run_if="all_done").add(note, None), Node[bool])
    assert_type(dag.add(total, [one.out.cents]), Node[float])
    assert_type(dag.add_task("shell", {"command": ["true"]}), Node[Any])
    assert_type(dag.add_call(charge.call(1)), Node[Invoice])
    ids = dag.add(listed, "monday")
    later = dag.options(window=50).map(charge, ids.out)
    assert_type(later, Node[list[Invoice]])
    assert_type(dag.map(mail, later.out, copy="boss"), Node[list[str]])
    assert_type(dag.map(charge, dag.add(pages, 1).out.rows), Node[list[Invoice]])
    assert_type(dag.mermaid(), str)

job = dag.submit()
assert_type(job, JobHandle[dict[str, Any]])
assert_type(job.result(timeout=5), dict[str, Any])
assert_type(job.result_of(one), Invoice)
assert_type(job.result_of(many, timeout="5s"), list[Invoice])
assert_type(job.task(one), TaskHandle[Invoice])
assert_type(job.task("charge").result(), Any)
assert_type(job.status(), JobStatus)
assert_type(job.wait("5s"), JobInfo)
assert_type(job.nodes(), tuple[NodeInfo, ...])
assert_type(job.attempts(), tuple[AttemptInfo, ...])
assert_type(app.job("id"), JobHandle[Any])

# A chain gives what its last task gives; the result before is the first argument.
chain = charge.call(1).then(mail, copy="boss")
assert_type(chain, Chain[str])
assert_type(chain.submit("mails", key="once"), JobHandle[str])
assert_type(chain.submit().result(), str)
wider = charge.call(1).then(note)  # pyright: ignore[reportArgumentType] - takes a ParamSpec for invariant
assert_type(wider.submit().result(), bool)
taken = pay.call(1).then(mail)  # pyright: ignore[reportArgumentType] - takes a ParamSpec for invariant
assert_type(taken.submit().result(), str)  # what takes an Invoice takes a Paid one
assert_type(charge.options(delay=1).call(1).then(mail.options(queue="mail")), Chain[str])


async def awaited() -> None:
    handle = await dag.asubmit()
    assert_type(await handle, dict[str, Any])
    assert_type(await handle.aresult_of(many), list[Invoice])
    assert_type(await handle.atask(one), TaskHandle[Invoice])
    assert_type(await handle.await_end(), JobInfo)
    assert_type(await handle.aattempts(), tuple[AttemptInfo, ...])
    assert_type(await (await chain.asubmit()), str)


def mistakes() -> None:
    # Arguments: wrong, missing, unknown; a result where another kind of value is wanted.
    dag.add(charge, "1")  # type: ignore[arg-type]
    dag.add(charge)  # type: ignore[call-arg]
    dag.add(charge, 1, unknown=1)  # type: ignore[call-arg]
    dag.add(receipts, one.out)  # type: ignore[arg-type]
    dag.add(mail, many.out)  # type: ignore[arg-type]
    dag.add(mail, one)  # type: ignore[arg-type]
    dag.add(total, [one.out])  # type: ignore[list-item]
    one.out.dollars  # type: ignore[attr-defined]  # noqa: B018

    # Maps: items of the wrong kind, something that has no items, a result that is no list.
    dag.map(charge, ["1"])  # type: ignore[arg-type]
    dag.map(charge, 1)  # type: ignore[arg-type]
    dag.map(mail, one.out)  # type: ignore[arg-type]
    dag.map(mail, many.out, copy=5)  # type: ignore[arg-type]
    dag.map(mail, ids.out)  # type: ignore[arg-type]
    dag.map(charge, ids)  # type: ignore[arg-type]
    dag.options(window="5")  # type: ignore[arg-type]

    # Chains: a task that cannot take the result.
    charge.call(1).then(receipts)  # type: ignore[arg-type]
    charge.call(1).then(mail).then(mail)  # type: ignore[arg-type]
    charge.call(1).then(mail, 5)  # type: ignore[arg-type]

    # Options: misspelt, or of the wrong kind.
    app.dag("x", onwer="me")  # type: ignore[call-arg]
    dag.options(run_if="sometimes")  # type: ignore[arg-type]
    dag.options(after=["charge"])  # type: ignore[list-item]
    dag.options(needs=[one])  # type: ignore[call-arg]

    # Results: used as something else.
    text: str = job.result_of(one)  # type: ignore[assignment]
    number: int = chain.submit().result()  # type: ignore[assignment]
    job.task(one).result().dollars  # type: ignore[attr-defined]  # noqa: B018
    print(text, number)  # noqa: T201
