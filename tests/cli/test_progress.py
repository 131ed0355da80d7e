import pytest

from drumline.cli.describing import progress_text


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (None, None),
        ({"done": 3.0, "total": None, "message": "files"}, "3 files"),
        ({"done": 5.0, "total": 10.0, "message": ""}, "█████  50% (5 of 10)"),
        ({"done": 12_345.0, "total": 10_000.0, "message": "rows"}, "100% (12,345 of 10,000) rows"),
        ({"done": -1.0, "total": 4.0, "message": ""}, " 0% (-1 of 4)"),
    ],
)
def test_how_far_a_task_is_reads_well(progress: dict[str, object] | None, text: str | None) -> None:
    shown = progress_text({"progress": progress})

    if text is None:
        assert shown is None
    else:
        assert shown is not None
        assert shown.replace("░", "").endswith(text.replace("  50%", " 50%"))
