"""The SQL of this backend, by name."""

from typing import Final

from drumline.backends.sql_files import SqlFiles

SQL: Final = SqlFiles("drumline.backends.sqlite")
