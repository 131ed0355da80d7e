from drumline.core.graph_folding import Vertex, fold, layers_of, unfolded
from drumline.core.mermaid import mermaid

TIMES = "\N{MULTIPLICATION SIGN}"


def vertex(key: str, *needs: str, name: str | None = None, status: str = "") -> Vertex:
    return Vertex(key=key, needs=needs, name=name or key.partition("-")[0], status=status)


def fan(width: int) -> list[Vertex]:
    middle = [vertex(f"m-{n}", "a", status="COMPLETED" if n else "FAILED") for n in range(width)]
    return [vertex("a"), *middle, vertex("z", *[one.key for one in middle])]


def labels(vertices: list[Vertex], *, most: int | None = None) -> list[str]:
    return [one.label for one in fold(vertices, most=most)]


def test_a_layer_is_one_below_the_lowest_that_is_needed() -> None:
    diamond = [vertex("a"), vertex("b", "a"), vertex("c", "b"), vertex("d", "a", "c")]

    assert layers_of(diamond) == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_small_graphs_are_not_folded() -> None:
    diamond = [vertex("a"), vertex("b", "a"), vertex("c", "a"), vertex("d", "b", "c")]

    assert labels(diamond) == ["a", "b", "c", "d"]
    assert [one.needs for one in fold(diamond)] == [(), (0,), (0,), (1, 2)]


def test_a_fan_of_thousands_is_one_with_its_statuses_counted() -> None:
    first, middle, last = fold(fan(5000))

    assert (first.label, middle.label, last.label) == ("a", f"m-0 … m-4999 {TIMES}5,000", "z")
    assert middle.statuses == {"FAILED": 1, "COMPLETED": 4999}
    assert (middle.needs, last.needs, last.layer) == ((0,), (1,), 2)


def test_fans_one_behind_the_other_are_folded_each() -> None:
    vertices = fan(100)[:-1] + [vertex(f"n-{n}", f"m-{n}") for n in range(100)]

    assert labels(vertices) == ["a", f"m-0 … m-99 {TIMES}100", f"n-0 … n-99 {TIMES}100"]


def test_what_is_of_another_name_or_leads_elsewhere_stands_alone() -> None:
    vertices = [vertex("a"), *[vertex(f"m-{n}", "a") for n in range(9)], vertex("x", "m-3"), vertex("y", "a")]

    assert sorted(labels(vertices)) == ["a", f"m-0 … m-8 {TIMES}8", "m-3", "x", "y"]


def test_a_long_row_is_one() -> None:
    row = [vertex("s-0"), *[vertex(f"s-{n}", f"s-{n - 1}") for n in range(1, 1000)]]

    (only,) = fold(row)

    assert (only.label, only.is_row) == ("s-0 … s-999 →1,000", True)
    assert labels([*row, vertex("after", "s-999")]) == ["s-0 … s-999 →1,000", "after"]
    assert labels(row[:7]) == [one.key for one in row[:7]]


def test_what_is_still_too_much_is_folded_by_layer_and_name() -> None:
    tangle = [vertex(f"a-{n}") for n in range(50)]
    tangle += [vertex(f"b-{n}", *[f"a-{m}" for m in range(n % 7 + 1)], *[f"a-{n}"] * (n > 6)) for n in range(50)]

    assert labels(tangle, most=10) == [f"a-0 … a-49 {TIMES}50", f"b-0 … b-49 {TIMES}50"]
    assert len(unfolded(tangle)) == 100


def test_mermaid_shows_boxes_arrows_and_states() -> None:
    text = mermaid([vertex("a", status="COMPLETED"), vertex("b", "a", name="shop.b", status="FAILED")])

    assert text.startswith("flowchart TD\n")
    assert '    t0["a<br/>COMPLETED"]\n    t1["b<br/>shop.b<br/>FAILED"]\n    t0 --> t1\n' in text
    assert "    class t1 failed\n" in text


def test_mermaid_takes_any_key() -> None:
    text = mermaid([Vertex(key='say "hi" <b>#1;`[x]|')])

    assert 't0["say #34;hi#34; #60;b#62;#35;1;#96;#91;x#93;#124;"]' in text


def test_mermaid_of_thousands_is_small_unless_all_is_wanted() -> None:
    assert len(mermaid(fan(5000)).splitlines()) < 15
    assert len(mermaid(fan(50), folded=False).splitlines()) > 150
