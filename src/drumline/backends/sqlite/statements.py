"""The SQL of this backend, by name: the texts of its own files, and all that parts of the store run."""

from typing import Final

from drumline.backends.sql_files import SqlFiles
from drumline.stores.statements import SqliteStatement, shared

OWN: Final = SqlFiles("drumline.backends.sqlite")

STATEMENTS: Final = {name: SqliteStatement(name, text) for name, text in {**OWN, **shared("sqlite")}.items()}

SQL: Final = {name: statement.text for name, statement in STATEMENTS.items()}
