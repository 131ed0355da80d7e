"""An app is found however it is named, and its tasks have the same names however it is found."""

import subprocess
import sys
from pathlib import Path

import pytest

from drumline.core.errors import Invalid
from drumline.lifecycle.apps import load_apps

SOURCE = """
from drumline import Drumline
app = Drumline("{name}")
@app.task
def add(a: int, b: int) -> int:
    return a + b
if __name__ == "__main__":
    print(add.definition.name)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `<unique>_hello.py` and a package `<unique>_shop` with a module in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in [name for name in sys.modules if name in {"hello", "shop", "shop.tasks"}]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "hello.py").write_text(SOURCE.format(name="hello"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "tasks.py").write_text(SOURCE.format(name="shop"))
    return tmp_path


@pytest.mark.parametrize(
    ("target", "task"),
    [
        ("hello.py", "hello.add"),
        ("./hello.py", "hello.add"),
        ("hello", "hello.add"),
        ("hello:app", "hello.add"),
        ("hello.py:app", "hello.add"),
        ("shop/tasks.py", "shop.tasks.add"),
        ("shop.tasks:app", "shop.tasks.add"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_app_is_found_by_path_module_or_name(target: str, task: str) -> None:
    (app,) = load_apps([target])

    assert app.registry.names == (task,)


def test_a_task_has_the_same_name_when_its_file_is_the_program(folder: Path) -> None:
    (app,) = load_apps(["hello.py"])

    ran = subprocess.run([sys.executable, folder / "hello.py"], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == list(app.registry.names)


@pytest.mark.usefixtures("folder")
def test_an_app_that_is_named_twice_is_served_once() -> None:
    assert len(load_apps(["hello.py", "hello:app", "shop.tasks"])) == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere.py", "there is no file nowhere.py"),
        ("nowhere.tasks", "there is no module nowhere"),
        ("hello:ap", "hello has no ap; did you mean app?"),
        ("hello:add", "add is a Task, not an app"),
        ("empty.py", "empty.py has no app"),
        ("", "neither a file nor a module"),
    ],
)
def test_what_is_no_app_is_said_clearly(folder: Path, target: str, message: str) -> None:
    (folder / "empty.py").write_text("")

    with pytest.raises(Invalid) as refusal:
        load_apps([target])

    assert message in refusal.value.message


def test_a_fault_inside_the_app_is_shown_as_it_is(folder: Path) -> None:
    (folder / "broken.py").write_text("import no_such_module_anywhere")

    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        load_apps(["broken.py"])
