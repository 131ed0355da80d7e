"""The report of `drumline doctor`: facts about services, and findings with advice."""

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    check: str
    """What was looked at: a word for programs, which stays what it is."""
    severity: Severity
    text: str
    advice: str = ""
    """What to do."""


class LongTransaction(Struct, frozen=True):
    """A transaction that has been open for a while."""

    pid: int
    program: str
    state: str
    seconds: float


class TableFacts(Struct, frozen=True):
    """How a hot table is kept."""

    name: str
    live: int
    dead: int
    is_vacuumed: bool
    """Whether autovacuum is on for it."""


class PostgresFacts(Struct, frozen=True, kw_only=True):
    """What a PostgreSQL server says of itself. Moments are milliseconds."""

    version: int
    """Such as 150004."""
    clock: int
    """Its time, less this machine's, as far as the way there and back tells."""
    is_pooled: bool
    is_by_statement: bool
    """Whether the pooler in between takes transactions apart."""
    is_standby: bool
    settings: dict[str, str]
    connections: int
    applied: tuple[int, ...]
    """The migrations that were applied; none if there is no schema."""
    major: int | None
    tables: tuple[TableFacts, ...]
    transactions: tuple[LongTransaction, ...]
    wall: str | None = None
    """Why row-level security does not separate tenants; None if it does."""


class RedisFacts(Struct, frozen=True, kw_only=True):
    """What a Redis server says of itself."""

    version: tuple[int, ...]
    clock: int
    """Its time, less this machine's, in milliseconds."""
    role: str
    is_cluster: bool
    policy: str
    memory: int
    """Bytes in use."""
    most_memory: int
    """Bytes that it may use; 0 if there is no bound."""
