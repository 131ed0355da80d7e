"""Limits of sizes and numbers, and of HTTP connections; an operator can change them in the settings."""

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """The largest things Drumline accepts. Sizes are bytes of JSON unless said otherwise."""

    payload: int = 1024 * 1024
    """What a task is given."""
    result: int = 1024 * 1024
    """What a task gives back."""
    nesting: int = 100
    """How deep a payload or result may nest."""
    batch: int = 10_000
    """Tasks in one bulk submission."""
    bulk: int = 500_000
    """Tasks in one bulk operation."""
    job_tasks: int = 10_000
    """Tasks in one job."""
    job_edges: int = 100_000
    """Needs of all tasks of one job together."""
    missed_runs: int = 1000
    """Missed firings of one schedule that are made up for, at most: the newest ones."""
    waiting_runs: int = 1000
    """Runs of one schedule that wait for the one before them."""
    backfill: int = 10_000
    """Runs in one backfill."""
    request: int = 64 * 1024
    """One HTTP request whose operation takes nothing large."""
    request_lists: int = 1024 * 1024
    """One HTTP request that has lists of names or ids: keys, subscriptions, claims, bulk operations."""
    body: int = 12 * 1024 * 1024
    """One HTTP request that has many tasks, results or logs, or a job."""
    log: int = 1024 * 1024
    """The kept log of one attempt: of a longer one its first three quarters and its end."""
    artifact: int = 32 * 1024 * 1024
    """One file that a task made."""
    log_total: int = 2 * 1024 * 1024
    """The log of one attempt that a server takes from a remote worker, whatever that sends."""
    task_log: int = 64 * 1024 * 1024
    """The logs of all attempts of one task that a server takes from remote workers, also of those that do not count."""
    artifacts: int = 100
    """Files of one task."""
    task_artifacts: int = 256 * 1024 * 1024
    """Bytes of all files of one task."""
    sessions: int = 256 * 1024 * 1024
    """What the open sessions of a tenant's workers say of themselves, together."""
    error: int = 64 * 1024
    """Message and traceback of one failure."""
    records: int = 10_000
    """Records of one durable task."""
    record_bytes: int = 16 * 1024 * 1024
    """Bytes of all records of one durable task."""
    lanes: int = 1_000_000
    """Combinations of tenant, queue, task name and priority that one database gets. Those that exist go on."""
    tenant_lanes: int = 100_000
    """How many of `lanes` each tenant other than `default` gets, so that none uses them up."""
    page: int = 1000
    """Items in one page of a list."""


DEFAULT_LIMITS = Limits()


class HttpLimits(Struct, frozen=True, kw_only=True):
    """The limits of connections and requests. Times are seconds."""

    connections: int = 4096
    """Connections in all."""
    connections_per_address: int = 1024
    """Connections from one address, of IPv6 from one /64; trusted proxies may have as many as there may be."""
    header_bytes: int = 32 * 1024
    """Request line and headers together."""
    header_count: int = 128
    """Headers of one request."""
    url_bytes: int = 16 * 1024
    """The path with its query."""
    header_timeout: float = 10.0
    """From when a connection is opened, or from the first byte of a request, until its headers are complete."""
    body_timeout: float = 60.0
    """From complete headers until the body is complete."""
    keep_alive: float = 75.0
    """How long a connection may be idle between two requests."""
    write_timeout: float = 30.0
    """In which a client must accept 64 KiB of a response that waits for it, or all of it."""
    request_bytes: int = 256 * 1024 * 1024
    """Bodies that are held in memory, of all requests together."""


DEFAULT_HTTP_LIMITS = HttpLimits()
