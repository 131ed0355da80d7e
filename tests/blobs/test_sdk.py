"""Large values as users of the SDK meet them."""

from pathlib import Path

import pytest

from drumline import Drumline, TaskFailed


def test_a_large_argument_and_result_need_nothing_of_the_user(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    @app.task
    def double(text: str) -> str:
        return text + text

    with app.running():
        handle = double.submit("x" * 200_000)
        result = handle.result(timeout=30)
    app.close()

    assert result == "x" * 400_000
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 2


def test_asking_for_a_lost_result_names_its_blob(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    @app.task
    def large() -> str:
        return "x" * 200_000

    with app.running():
        handle = large.submit()
        handle.result(timeout=30)
        (blob,) = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
        blob.unlink()
        with pytest.raises(
            TaskFailed, match=f"BlobMissing: the result cannot be read: the blob .*{blob.name} is missing"
        ):
            handle.result(timeout=30)
    app.close()


def test_a_program_beside_the_database_uses_the_blob_store_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_BLOB_URL", (tmp_path / "elsewhere").as_uri())
    app = Drumline("test", data=tmp_path / "data")

    app.submit_task("ping", "x" * 200_000)
    app.close()

    assert len([path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]) == 1
    assert not (tmp_path / "data" / "blobs").exists()
