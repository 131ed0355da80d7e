"""Building jobs in Python: what a graph becomes, and what is refused while it is written."""

import copy
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from drumline import Backoff, Drumline, Invalid, RunIf
from drumline.core.job import JobTaskRequest
from drumline.sdk.dag import Dag

app = Drumline("test")


@dataclass
class Invoice:
    order: int
    cents: int = 0


@app.task(name="shop.charge", queue="billing", retries=7, timeout="30s")
def charge(order: int) -> Invoice:
    return Invoice(order)


@app.task(name="shop.send")
def send(invoices: list[Invoice], copy: str = "") -> int:
    return len(invoices) + len(copy)


@app.task(name="shop.look")
def look(anything: Any) -> Any:
    return anything


def payload(dag: Dag, key: str) -> Any:
    return json.loads(bytes(dag.request.tasks[key].payload))


def needs(dag: Dag) -> dict[str, tuple[str, ...]]:
    return {key: task.needs for key, task in dag.request.tasks.items()}


# -- what becomes of it


def test_a_result_becomes_a_reference_and_a_need() -> None:
    with app.dag("checkout") as dag:
        first = dag.add(charge, 7)
        dag.add(send, [first.out, Invoice(8, 800)], copy="boss")

    assert needs(dag) == {"charge": (), "send": ("charge",)}
    assert payload(dag, "charge") == {"order": 7}
    assert payload(dag, "send") == {"invoices": [{"$result": "charge"}, {"order": 8, "cents": 800}], "copy": "boss"}


def test_parts_of_a_result_are_paths() -> None:
    dag = app.dag("x")
    node = dag.add(look, 1)

    dag.add(charge, node.out["rows"][-1].id)

    assert payload(dag, "charge") == {"order": {"$result": "look.rows[-1].id"}}


def test_results_may_stand_anywhere_in_the_arguments() -> None:
    dag = app.dag("x")
    a, b = dag.add(charge, 1), dag.add(charge, 2)

    dag.add(look, {"deep": [{"one": a.out.cents}, Invoice(b.out.order)]})

    assert payload(dag, "look") == {
        "anything": {
            "deep": [{"one": {"$result": "charge.cents"}}, {"order": {"$result": "charge_2.order"}, "cents": 0}]
        }
    }
    assert needs(dag)["look"] == ("charge", "charge_2")


def test_a_map_is_a_task_for_each_item_and_its_result_a_list() -> None:
    dag = app.dag("x")
    invoices = dag.map(charge, [10, 20, 30])
    dag.add(send, invoices.out)

    assert invoices.keys == ("charge-0", "charge-1", "charge-2")
    assert [payload(dag, key) for key in invoices.keys] == [{"order": 10}, {"order": 20}, {"order": 30}]
    assert payload(dag, "send") == {"invoices": [{"$result": key} for key in invoices.keys]}
    assert needs(dag)["send"] == invoices.keys


def test_maps_go_one_behind_the_other() -> None:
    dag = app.dag("x")
    first = dag.map(charge, [1, 2])
    second = dag.map(look, first.out)

    assert [needs(dag)[key] for key in second.keys] == [("charge-0",), ("charge-1",)]
    assert len(second.out) == 2


def test_other_arguments_of_a_map_are_the_same_for_all() -> None:
    dag = app.dag("x")
    lists = [[Invoice(1)], [Invoice(2)]]

    node = dag.map(send, lists, copy="boss")

    assert [payload(dag, key)["copy"] for key in node.keys] == ["boss", "boss"]


def test_a_map_over_nothing_gives_an_empty_list() -> None:
    dag = app.dag("x")

    dag.add(send, dag.map(charge, []).out)

    assert payload(dag, "send") == {"invoices": []}


def test_keys_are_made_from_names_and_never_twice() -> None:
    dag = app.dag("x")

    keys = [*dag.add(charge, 1).keys, *dag.map(charge, [1, 2]).keys, *dag.add(charge, 1).keys]
    keys += [
        *dag.add_task("shell").keys,
        *dag.add_task("generate pdf!").keys,
        *dag.options(key="mine").add(look, 1).keys,
    ]

    assert keys == ["charge", "charge_2-0", "charge_2-1", "charge_3", "shell", "generate_pdf", "mine"]


def test_order_without_data_and_the_condition_are_options_of_the_node() -> None:
    dag = app.dag("x")
    many, one = dag.map(charge, [1, 2]), dag.add(charge, 3)

    dag.options(key="clean", after=[many, one], run_if="all_done").add(look, one.out)

    clean = dag.request.tasks["clean"]
    assert clean.needs == ("charge_2", "charge-0", "charge-1")
    assert clean.run_if is RunIf.ALL_DONE


def test_what_is_said_of_a_task_goes_into_the_job() -> None:
    dag = app.dag("x", retries=5)

    dag.add(charge.options(delay=timedelta(minutes=1), priority="high", backoff=Backoff.constant(1), tags=["a"]), 1)
    dag.add(look, 1)

    assert dag.request.tasks["charge"] == JobTaskRequest(
        name="shop.charge", payload=dag.request.tasks["charge"].payload, queue="billing", retries=7, timeout=30.0,
        delay=60.0, priority="high", backoff=Backoff.constant(1), tags=("a",),
    )  # fmt: skip
    assert dag.request.tasks["look"].retries is None  # the job's holds


def test_what_is_said_of_the_job_goes_into_it() -> None:
    dag = app.dag(
        "x", owner="me", key="once", depends_on=["01890a5d-ac96-774b-bcce-b302099a8057"], backoff=5, tags=["a", "b"]
    )

    request = dag.request

    assert (request.name, request.owner, request.idempotency_key) == ("x", "me", "once")
    assert (request.depends_on, request.backoff) == (("01890a5d-ac96-774b-bcce-b302099a8057",), 5)
    assert request.tags == ("a", "b")


def test_data_that_looks_like_a_reference_stays_data() -> None:
    dag = app.dag("x")
    node = dag.add(charge, 1)

    dag.add(look, [node.out, {"$result": "charge"}, {"$literal": 1}, {"$result": 5}, {"$result": "a", "b": 1}])

    assert payload(dag, "look")["anything"] == [
        {"$result": "charge"},
        {"$literal": {"$result": "charge"}},
        {"$literal": {"$literal": 1}},
        {"$result": 5},
        {"$result": "a", "b": 1},
    ]


def test_a_chain_is_a_job_of_tasks_in_a_row() -> None:
    dag, last = charge.call(1).then(look).then(look.options(queue="slow"))._built(None, {})

    assert dag.name == "charge → look → look"
    assert needs(dag) == {"charge": (), "look": ("charge",), "look_2": ("look",)}
    assert payload(dag, "look_2") == {"anything": {"$result": "look"}}
    assert dag.request.tasks["look_2"].queue == "slow"
    assert last.key == "look_2"


def test_a_chain_can_be_continued_in_two_ways() -> None:
    start = charge.call(1).then(look)

    one, other = start.then(look), start.then(charge)

    assert [len(chain._built(None, {})[0]) for chain in (start, one, other)] == [2, 3, 3]


def test_the_graph_is_drawn_before_it_is_submitted() -> None:
    dag = app.dag("x")
    dag.add(send, dag.map(charge, range(100)).out)

    text = dag.mermaid()

    assert text.startswith("flowchart TD\n")
    assert "charge-0 … charge-99" in text
    assert "    t0 --> t1" in text
    assert len(dag.mermaid(folded=False).splitlines()) > 200


# -- what is refused


def test_a_result_of_another_job_is_refused() -> None:
    theirs = app.dag("theirs").add(charge, 1)
    mine = app.dag("mine")

    with pytest.raises(Invalid, match="result of charge> belongs to another job"):
        mine.add(look, theirs.out)
    with pytest.raises(Invalid, match="belongs to another job"):
        mine.options(after=[theirs])
    assert len(mine) == 0


def test_a_result_cannot_be_gone_through_before_the_job_has_run() -> None:
    node = app.dag("x").add(look, [1, 2, 3])

    with pytest.raises(TypeError, match="the length of the result of 'look' is not known before the job has run"):
        list(node.out)


def test_a_map_over_a_result_is_one_task_that_starts_the_others() -> None:
    with app.dag("x", retries=2) as dag:
        orders = dag.add(look, [1, 2, 3])
        charges = dag.options(window=5).map(charge, orders.out.rows)
        dag.add(send, charges.out, copy="boss")
        dag.map(look, charges.out)

    assert needs(dag) == {"look": (), "charge": ("look",), "send": ("charge",), "look_2": ("charge",)}
    task = dag.request.tasks["charge"]
    assert (task.name, task.queue) == ("map", "billing")
    assert payload(dag, "charge") == {
        "items": {"$result": "look.rows"},
        "each": {"name": "shop.charge", "payload": {}, "queue": "billing", "retries": 7, "timeout": 30.0},
        "into": "order",
        "window": 5,
    }
    assert payload(dag, "send") == {"invoices": {"$result": "charge"}, "copy": "boss"}
    # What the job says for its tasks holds for those of a map, too, unless these say otherwise.
    assert payload(dag, "look_2")["each"] == {"name": "shop.look", "payload": {}, "retries": 2}


def test_other_arguments_of_a_map_over_a_result_may_be_results() -> None:
    @app.task(name="shop.copy")
    def copied(invoice: Any, /, to: str, *, again: bool = False) -> None: ...

    with app.dag("x") as dag:
        orders = dag.add(look, [1])
        to = dag.add(look, "boss")
        dag.map(copied, orders.out, to.out, again=True)

    assert dag.request.tasks["copy"].needs == ("look_2", "look")
    assert payload(dag, "copy")["into"] == "invoice"
    assert payload(dag, "copy")["each"]["payload"] == {"to": {"$result": "look_2"}, "again": True}


def test_maps_over_results_that_make_no_sense_are_refused() -> None:
    @app.task(name="shop.nothing")
    def nothing(*, key: int = 1) -> None: ...

    dag = app.dag("x")
    node = dag.add(look, [1])
    with pytest.raises(TypeError, match=r"shop\.nothing has no first parameter"):
        dag.map(nothing, node.out)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="window: must be from 1 to 100,000"):
        dag.options(window=0).map(charge, node.out)
    with pytest.raises(Invalid, match="window: is for a map over a result"):
        dag.options(window=3).map(charge, [1, 2])
    with pytest.raises(Invalid, match="idempotency_key: is not for the tasks of a map"):
        dag.map(charge.options(key="k"), node.out)
    with pytest.raises(TypeError, match=r"dag\.options: window must be a whole number"):
        dag.options(window="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="send"):
        dag.map(send, node.out, bad=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "use",
    [
        bool, len, str, int, float, lambda out: out == 1, lambda out: out + 1, lambda out: 1 - out,
        lambda out: f"{out}", lambda out: out(), lambda out: out < 1, lambda out: 1 in out,
    ],
)  # fmt: skip
def test_a_result_that_is_not_there_yet_cannot_be_worked_with(use: Any) -> None:
    node = app.dag("x").add(look, 1)

    with pytest.raises(TypeError, match="not known before the job has run"):
        use(node.out.rows)


def test_a_result_says_what_it_stands_for() -> None:
    node = app.dag("x").add(look, 1)

    assert repr(node.out.rows[0]) == "<result of look.rows[0]>"
    assert not hasattr(node.out, "__deepcopy__")
    with pytest.raises(TypeError, match="has no dots or brackets"):
        node.out["a.b"]
    with pytest.raises(TypeError, match="by its name or number"):
        node.out[1:2]
    copy.copy(node.out)


def test_a_call_that_the_function_would_refuse_is_refused_while_it_is_written() -> None:
    dag: Any = app.dag("x")

    with pytest.raises(TypeError, match=r"shop\.charge: missing a required argument: 'order'"):
        dag.add(charge)
    with pytest.raises(Invalid, match="cannot be written as JSON"):
        dag.add(look, object())
    assert len(dag) == 0


def test_two_tasks_under_one_key_are_refused() -> None:
    dag = app.dag("x")
    dag.options(key="a").add(charge, 1)

    with pytest.raises(Invalid, match="two tasks with the key 'a'"):
        dag.options(key="a").add(charge, 2)


def test_an_idempotency_key_is_the_jobs_and_no_tasks() -> None:
    with pytest.raises(Invalid, match=r"belongs to the whole job here: app\.dag\(name, key=…\)"):
        app.dag("x").add(charge.options(key="once"), 1)


def test_options_that_make_no_sense_are_refused() -> None:
    dag: Any = app.dag("x")

    with pytest.raises(TypeError, match=r"app\.dag has no option 'onwer'; did you mean owner\?"):
        app.dag("x", onwer="me")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"dag\.options has no option 'run_fi'; did you mean run_if\?"):
        dag.options(run_fi="all_done")
    with pytest.raises(Invalid, match="must be one of all_succeeded, all_done, any_failed; did you mean all_done"):
        dag.options(run_if="all_don")
    with pytest.raises(TypeError, match="after= takes a list of nodes"):
        dag.options(after=dag.add(charge, 1))
    with pytest.raises(TypeError, match=r"after= takes nodes, as dag\.add gives them, not 'charge'"):
        dag.options(after=["charge"])


def test_a_dag_is_complete_when_its_block_is() -> None:
    with app.dag("x") as dag:
        dag.add(charge, 1)

    with pytest.raises(RuntimeError, match="is complete: add tasks inside its `with` block"):
        dag.add(charge, 2)


def test_a_map_has_keys_and_no_key() -> None:
    node = app.dag("x").map(charge, [1, 2])

    with pytest.raises(TypeError, match="this node is 2 tasks"):
        assert node.key
    assert repr(node) == "<Node charge-0 and 1 more>"
