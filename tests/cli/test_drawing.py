"""Drawn graphs: what leads where can be read off the picture."""

from random import Random

from drumline.cli.drawing import DrawnBox, DrawnLine, draw, route

DIAMOND = """\
    ┌───┐
    │ a │
    └─┬─┘
  ╭───┴───╮
┌─┴─┐   ┌─┴─┐
│ b │   │ c │
└─┬─┘   └─┬─┘
  ╰───┬───╯
    ┌─┴─┐
    │ d │
    └───┘"""

PAST_A_LAYER = """\
   ┌───┐
   │ a │
   └─┬─┘
  ╭──┴──╮
┌─┴─┐   │
│ b │   │
└─┬─┘   │
  ╰──┬──╯
   ┌─┴─┐
   │ c │
   └───┘"""


def drawn(boxes: list[DrawnBox], width: int = 100) -> str | None:
    picture = draw(boxes, width=width)
    return None if picture is None else "\n".join("".join(span.text for span in row).rstrip() for row in picture)


def box(text: str, layer: int, *needs: int) -> DrawnBox:
    return DrawnBox((text,), layer, needs)


def test_a_diamond_looks_like_one() -> None:
    assert drawn([box("a", 0), box("b", 1, 0), box("c", 1, 0), box("d", 2, 1, 2)]) == DIAMOND


def test_a_line_goes_past_a_layer_that_it_has_nothing_to_do_with() -> None:
    assert drawn([box("a", 0), box("b", 1, 0), box("c", 2, 0, 1)]) == PAST_A_LAYER


def test_what_does_not_fit_is_not_drawn() -> None:
    boxes = [box("x" * 20, 0), box("y" * 20, 0)]

    assert drawn(boxes, 40) is None
    assert drawn(boxes, 60) is not None
    assert drawn([box("x", 0)] * 41, 1000) is None


def test_wide_signs_take_two_columns() -> None:
    picture = drawn([box("鼓", 0), box("ab", 1, 0)])

    assert picture == "┌──┴─┐\n│ 鼓 │\n└──┬─┘\n   │\n┌──┴─┐\n│ ab │\n└────┘".replace("┌──┴─┐", "┌────┐", 1)


def test_lines_that_cross_without_meeting_are_told_apart() -> None:
    assert route([DrawnLine(frozenset({0}), frozenset({4})), DrawnLine(frozenset({4}), frozenset({0}))]) is None
    assert route([DrawnLine(frozenset({0}), frozenset({6})), DrawnLine(frozenset({4}), frozenset({2}))]) == [
        "╰───│─╮",
        "  ╭─╯ │",
    ]


def test_lines_that_lead_to_one_box_meet() -> None:
    assert route([DrawnLine(frozenset({0, 4}), frozenset({2}))]) == ["╰─┬─╯"]
    assert route([DrawnLine(frozenset({0}), frozenset({2})), DrawnLine(frozenset({4}), frozenset({2, 6}))]) == [
        "╰─╮ │",
        "  ├─┴─╮",
    ]


def test_every_box_is_in_the_picture_whatever_the_graph() -> None:
    for seed in range(60):
        chance = Random(seed)
        boxes: list[DrawnBox] = []
        for number in range(chance.randint(1, 14)):
            needs = tuple(sorted({chance.randrange(number) for _ in range(chance.randint(0, 3))})) if number else ()
            layer = max((boxes[need].layer + 1 for need in needs), default=0)
            boxes.append(box(f"n{number}", layer, *needs))

        picture = drawn(boxes, 400)

        if picture is None:  # lines that would share a stretch: the list is shown instead
            continue
        assert all(f"│ n{number} " in picture for number in range(len(boxes)))
        assert picture.count("┌") == picture.count("└") == len(boxes)
