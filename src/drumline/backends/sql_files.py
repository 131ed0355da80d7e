"""SQL from files: one statement per file, named by its verb, with its contract as a comment on top."""

from collections.abc import Iterator, Mapping
from importlib.resources import files


class SqlFiles(Mapping[str, str]):
    """The statements of one backend, by name: `sql["claim"]` is `sql/claim.sql`."""

    def __init__(self, package: str) -> None:
        folder = files(package) / "sql"
        self._texts = {
            entry.name.removesuffix(".sql"): entry.read_text("utf-8")
            for entry in folder.iterdir()
            if entry.name.endswith(".sql")
        }

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def migrations(package: str) -> list[tuple[int, str, str]]:
    """Return the migrations of one backend in order: number, name, script."""
    found = []
    for entry in (files(package) / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append((int(number), name, entry.read_text("utf-8")))
    return sorted(found)
