"""The SQL of this backend, by name: the texts of its own files, and all that parts of the store run."""

from typing import Final

from drumline.stores.sql_files import named
from drumline.stores.statements import SqliteStatement, shared

OWN: Final = named("drumline.stores.sqlite")

STATEMENTS: Final = {name: SqliteStatement(name, text) for name, text in {**OWN, **shared("sqlite")}.items()}

SQL: Final = {name: statement.text for name, statement in STATEMENTS.items()}
