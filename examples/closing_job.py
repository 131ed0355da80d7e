"""A job: charges in parallel, a report of all of them, and a task that cleans up whatever happened.

    drumline dev closing_job.py      in one terminal: the server, and a worker that has these tasks
    python closing_job.py            in another

`node.out` stands for a result that is not there yet; the order of the tasks follows from who takes whose result.
"""

from dataclasses import dataclass

from drumline import Drumline, JobFailed, Permanent

app = Drumline("closing")


@dataclass
class Invoice:
    order: int
    cents: int


@app.task
def charge(order: int) -> Invoice:
    if order == 13:
        raise Permanent("nobody pays order 13")
    return Invoice(order, order * 100)


@app.task
def report(invoices: list[Invoice]) -> str:
    return f"{len(invoices)} orders, {sum(invoice.cents for invoice in invoices)} cents"


@app.task
def clean_up() -> None:
    print("removing what the charges left behind")


def close(*orders: int) -> None:
    with app.dag("closing", owner="shop") as dag:
        invoices = dag.map(charge, orders)
        total = dag.add(report, invoices.out)
        dag.options(after=[total], run_if="all_done").add(clean_up)
    job = dag.submit()
    print("follow it at", job.url)
    try:
        print(job.result(timeout=60)["report"])
    except JobFailed as error:
        print("it failed:", error.reason)
        print({node.key: node.status.value for node in job.nodes()})


if __name__ == "__main__":
    close(7, 8, 9)
    close(7, 13)
