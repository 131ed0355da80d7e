"""What can be set, with its type, its default and what it means. The reference page is made from this file."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from drumline.core.limits import DEFAULT_HTTP_LIMITS, DEFAULT_LIMITS, Limits
from drumline.core.provider import Provider
from drumline.core.redaction import DEFAULT_FIELDS
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, MOST_RETRIES

Port = Annotated[int, Meta(ge=0, le=65_535)]
Count = Annotated[int, Meta(ge=1, le=100_000)]
Batch = Annotated[int, Meta(ge=1, le=10_000)]
Amount = Annotated[int, Meta(ge=1)]

SQLITE_FILE = "drumline.db"
KEY_FILE = "api-key"
SECRET_KEY_FILE = "secret-key"  # noqa: S105 - the name of a file
SERVER_FILE = "server.json"
SQLITE = "sqlite:///"
BLOB_FOLDER = "blobs"


class Secret(str):
    """A text that is not shown when what holds it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """How a worker behaves."""

    concurrency: Count = 64
    """How many tasks it runs at once."""
    queues: tuple[str, ...] = ()
    """The queues it serves; none named means all of them. `mail=3` gives a queue three times the room of `reports`
    while both have tasks; nothing stays idle for it."""
    grace: timedelta = timedelta(seconds=30)
    """How long running tasks may go on after the worker was asked to stop; then they are given back."""
    label: str = ""
    """A name for people, shown in the list of workers."""


class BlobSettings(Struct, frozen=True, kw_only=True):
    """Large payloads and results, where there is a blob store (`blob_url`)."""

    over: Annotated[int, Meta(ge=1024)] = 128 * 1024
    """Bytes of JSON above which a payload or result is kept in the blob store, and a reference in the database."""
    grace: timedelta = timedelta(days=1)
    """How old a blob must be before it is deleted because its task does not exist. Longer than any submission takes."""
    access_key: str | None = None
    """The access key for S3; when not set, that of the machine is used (`drumline[aws]`)."""
    secret_key: Secret | None = None
    """The secret key that belongs to it."""
    session_token: Secret | None = None
    """The token that belongs to it, if it was lent for a while."""


class PauseSettings(Struct, frozen=True, kw_only=True):
    """What is not handed out for the time being, for every tenant. What runs goes on."""

    queues: tuple[str, ...] = ()
    """Queues whose tasks wait. The schedulers pause them, and resume them once they are not named any more."""
    names: tuple[str, ...] = ()
    """Task names whose tasks wait."""


class TaskDefaultSettings(Struct, frozen=True, kw_only=True):
    """What holds for tasks that say nothing else, from when it is set."""

    retries: Annotated[int, Meta(ge=0, le=MOST_RETRIES)] = DEFAULT_RETRIES
    """How often a task is tried again."""
    backoff_base: Annotated[float, Meta(ge=0, le=31_622_400)] = DEFAULT_BACKOFF.base
    """Seconds before the first retry."""
    backoff_factor: Annotated[float, Meta(ge=1, le=100)] = DEFAULT_BACKOFF.factor
    """How many times as long each further one waits."""
    backoff_cap: Annotated[float, Meta(ge=0, le=31_622_400)] = DEFAULT_BACKOFF.cap
    """Seconds that a retry waits at most."""
    backoff_jitter: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_BACKOFF.jitter
    """The share of each wait that is left to chance."""
    payload_check: Literal["refuse", "warn", "off"] = "refuse"
    """What becomes of a submission whose payload does not fit the parameters that workers have published for its task:
    it is refused, accepted with a warning in the answer, or not looked at."""


class TuneSettings(Struct, frozen=True, kw_only=True):
    """How the engine works. The defaults were measured to be right nearly everywhere."""

    poll: timedelta = timedelta(seconds=1)
    """How often a waiting claim checks for due tasks although it was not woken up: the fallback for lost wake-ups."""
    submit_batch: Batch = 500
    """Tasks that are stored in one transaction at most."""
    claim_batch: Batch = 50
    """Claims of workers that are answered by one statement at most."""
    report_batch: Batch = 500
    """Reports that a worker sends together at most."""


class WatchSettings(Struct, frozen=True, kw_only=True):
    """How soon a running process sees that its configuration has changed; 0 never looks."""

    file_every: timedelta = timedelta(seconds=1)
    """How often it looks at the settings file."""
    parameters_every: timedelta = timedelta(seconds=3)
    """How often it asks the Parameter Store. AWS answers some 40 such questions a second for a whole account."""
    runtime_every: timedelta = timedelta(seconds=1)
    """How often it looks for a new runtime configuration in the store."""


class ShellSettings(Struct, frozen=True, kw_only=True):
    """What `shell` tasks may do on a worker's machine, where `allow_shell` lets them run at all."""

    allow: tuple[str, ...] = ()
    """Programs that may run, by absolute path or by a name on the worker's path; none named means all. A text for the
    shell needs `/bin/sh` among them, which then runs anything."""
    env: tuple[str, ...] = ()
    """Variables that tasks may set where only some programs may run, besides `TASK_*`, `LANG`, `LC_*` and `TZ`; a `*`
    at the end stands for anything. Those by which a program can be made to run another cannot be named."""
    cpu: timedelta | None = None
    """Processor time that each process may use; it is killed then."""
    memory: Amount | None = None
    """Bytes of memory that each process may address."""
    files: Amount | None = None
    """Files that each process may have open."""
    file_size: Amount | None = None
    """Bytes of the largest file that may be written."""
    processes: Amount | None = None
    """Processes that `user` may have, all in all; the superuser has no such limit."""
    user: str | None = None
    """Whom they run as; needs a worker that is started as root."""


class PdfSettings(Struct, frozen=True, kw_only=True):
    """What one document of a `generate-pdf` task may cost; as many are set at once as there are processors."""

    cpu: timedelta = timedelta(seconds=30)
    """Processor time; a document that uses more has failed for good, and one that takes three times as long by the
    clock is tried again."""
    memory: Annotated[int, Meta(ge=268_435_456)] = 1024 * 1024 * 1024
    """Bytes of memory that may be addressed."""


class SmtpSettings(Struct, frozen=True, kw_only=True):
    """The mail server of the `send-email` task and of notifications."""

    host: str | None = None
    """Its address. Without one workers do not offer `send-email`; `drumline dev` then tries port 25 of this machine."""
    port: Port = 587
    """Its port: 587 with `starttls`, 465 with `tls`, 25 with `none`."""
    tls: Literal["none", "starttls", "tls"] = "starttls"
    """How the connection is protected: from the first byte, after a greeting, or not at all."""
    username: str | None = None
    """The user to log in as; no login when not set."""
    password: Secret | None = None
    """The password of that user."""
    sender: str = "drumline@localhost"
    """The sender of mails that name none."""


class SmsSettings(Struct, frozen=True, kw_only=True):
    """The gateway of the `send-sms` task: an HTTP service that takes messages in the way of one of two providers."""

    provider: Literal["none", "twilio", "vonage"] = "none"
    """How requests are written: `twilio` posts a form under the account, `vonage` posts JSON. With `none` no worker
    offers `send-sms`."""
    url: str | None = None
    """Where the gateway is, such as `https://sms.example.org`; the provider's own address when not set."""
    account: str = ""
    """The account at the provider: Twilio's account SID, Vonage's API key."""
    token: Secret | None = None
    """The secret of that account: Twilio's auth token, Vonage's API secret."""
    sender: str = ""
    """The number or name that messages come from unless they say otherwise."""
    timeout: timedelta = timedelta(seconds=15)
    """How long the gateway may take to answer."""
    allow: tuple[str, ...] = ()
    """Where the gateway may be besides the public Internet: networks, hosts, `*` for everything."""


class EventSettings(Struct, frozen=True, kw_only=True):
    """The log of everything that changes, which the stream of events is read from."""

    retention: timedelta = timedelta(days=1)
    """How long events can be read again, once all consumers have passed them: how long a stream may be cut off."""
    rows: Annotated[int, Meta(ge=0)] = 1_000_000
    """How many rows are kept at most, once all consumers have passed them; a row holds one event or some thousands."""
    source: str = "/drumline"
    """What events name as their source; worth setting when several systems write to one Kafka."""


class BusSettings(Struct, frozen=True, kw_only=True):
    """How events are sent to Kafka, if `bus_url` names one."""

    events_topic: str = "drumline.events"
    """The topic of all events."""
    dead_letters_topic: str = "drumline.dead-letters"
    """The topic of tasks that failed for good, complete with payload and history."""
    partitions: Annotated[int, Meta(ge=1, le=10_000)] = 6
    """How many partitions a topic gets that does not exist yet. Changing it later breaks the order per task."""
    replication: Annotated[int, Meta(ge=1, le=100)] | None = None
    """How many brokers keep a topic that does not exist yet; the brokers' own default when not set."""
    retention: timedelta = timedelta(days=7)
    """How long Kafka keeps the events of a topic that does not exist yet; dead letters four times as long."""
    largest: Annotated[int, Meta(ge=10_000)] = 1_000_000
    """Bytes of the largest message; of a dead letter that would be larger, the payload is left out."""
    tls: bool = False
    """Whether connections are protected by TLS."""
    tls_ca: Path | None = None
    """A file with the certificates of those who vouch for the brokers; those of the system when not set."""
    tls_certificate: Path | None = None
    """A file with our own certificate, for brokers that want to see one."""
    tls_key: Path | None = None
    """A file with its private key."""
    sasl: Literal["none", "plain", "scram-sha-256", "scram-sha-512"] = "none"
    """How to log in."""
    username: str | None = None
    """Whom to log in as."""
    password: Secret | None = None
    """The password of that user."""


class NotifySettings(Struct, frozen=True, kw_only=True):
    """Notifications by webhook and by mail. Mail goes through the server of `smtp`."""

    allow: tuple[str, ...] = ()
    """What webhooks may reach besides the public Internet: networks, hosts, `*` for everything."""
    timeout: timedelta = timedelta(seconds=15)
    """How long a receiver may take to answer."""
    give_up_after: timedelta = timedelta(days=1)
    """How long a delivery is tried, at growing intervals, before it has failed."""
    follow_redirects: bool = False
    """Whether a webhook that sends on (307 or 308) is followed, as far as it leads to where webhooks may go."""
    concurrency: Count = 32
    """How many webhooks a notifier calls at once."""
    mail_burst: Count = 3
    """How many mails an address gets at once, before the following ones are collected."""
    mail_every: timedelta = timedelta(minutes=5)
    """How often an address gets mail then: one mail for everything that happened."""


class AccessSettings(Struct, frozen=True, kw_only=True):
    """API keys: how they are made, and how often they may be used. A rate is such as `100/60s`, or `unlimited`."""

    environment: str = "live"
    """The word in the middle of new keys, `sk_live_…`: tell production and test apart by it."""
    first_key_rate: str = "unlimited"
    """How often the key may be used that the server was started with."""
    admin_rate: str = "100/60s"
    """How often a key may be used whose role is `admin`, unless it has a rate of its own."""
    operator_rate: str = "100/60s"
    """The same for `operator`."""
    submitter_rate: str = "100/60s"
    """The same for `submitter`."""
    worker_rate: str = "60000/60s"
    """The same for `worker`: a fleet shares a key, and each of its members claims, beats and reports."""
    viewer_rate: str = "100/60s"
    """The same for `viewer`."""
    tenant_keys: Count = 10
    """The keys that a tenant's own keys made may be used together as often as so many keys of their role, however many
    they are."""
    anonymous_rate: str = "1000/60s"
    """How often an address may ask an API server without a key or sign-in that is good, `/livez` and `/readyz` apart.
    Of IPv6 all of a /64 is one address. Behind a proxy, set `trusted_proxies`: else all clients are one."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks such as `10.0.0.0/8` whose `X-Forwarded-…` headers are believed: where a request came from, and where
    people think they are."""


class SignInSettings(Struct, frozen=True, kw_only=True):
    """People at the web interface: how long they stay signed in, and who vouches for them besides keys."""

    providers: tuple[Provider, ...] = ()
    """Issuers of OpenID Connect that people may sign in with: [Sign in](../how-to/sign-in.md) has what to say of each.
    In the environment it is JSON, also from a file that `DRUMLINE_SIGN_IN_PROVIDERS_FILE` names."""
    idle: timedelta = timedelta(hours=12)
    """After how long without anybody at the page a sign-in ends."""
    lifetime: timedelta = timedelta(days=7)
    """After how long it ends in any case."""
    rate: str = "1000/60s"
    """The rate of a user who signed in by a provider; a sign-in by key has the rate of its key."""
    secret: Secret | None = None
    """What sign-ins are sealed with, at least 32 characters, the same on every API server; made from the first key when
    not set. Another one ends every sign-in."""


class UiSettings(Struct, frozen=True, kw_only=True):
    """The web interface."""

    environment: Annotated[str, Meta(max_length=40)] = ""
    """What people call this installation, such as `production`: shown on every page, with a strip in `colour`."""
    colour: Literal["grey", "green", "blue", "purple", "orange", "red"] = "grey"
    """The colour of the environment."""


class HttpSettings(Struct, frozen=True, kw_only=True):
    """What the API accepts on its connections, and how many of them there may be.

    What is refused is counted in `drumline_http_refused_total` and logged as `connection.refused`.
    """

    connections: Count = DEFAULT_HTTP_LIMITS.connections
    """Connections in all; fewer where the system allows few open files, of which 256 are left for other things. When
    there is no room, one that waits for a request gives way."""
    connections_per_address: Count = DEFAULT_HTTP_LIMITS.connections_per_address
    """Connections from one address, of IPv6 from one /64. Trusted proxies have no such limit."""
    header_bytes: Annotated[int, Meta(ge=1024, le=1_048_576)] = DEFAULT_HTTP_LIMITS.header_bytes
    """Bytes of a request's first line and headers; more are answered with 431."""
    url_bytes: Annotated[int, Meta(ge=256, le=1_048_576)] = DEFAULT_HTTP_LIMITS.url_bytes
    """Bytes of a path with its query; more are answered with 414."""
    header_timeout: timedelta = timedelta(seconds=DEFAULT_HTTP_LIMITS.header_timeout)
    """How long it may take until a request's headers are complete, and until a new connection sends any; then 408."""
    body_timeout: timedelta = timedelta(seconds=DEFAULT_HTTP_LIMITS.body_timeout)
    """How long it may take until a request's body is complete; then 408."""
    keep_alive: timedelta = timedelta(seconds=DEFAULT_HTTP_LIMITS.keep_alive)
    """How long a connection may be idle between two requests: longer than a proxy in front keeps it."""
    write_timeout: timedelta = timedelta(seconds=DEFAULT_HTTP_LIMITS.write_timeout)
    """How long a client may take to accept 64 KiB of an answer that waits for it; then the connection is ended."""
    request_bytes: Annotated[int, Meta(ge=1_048_576)] = DEFAULT_HTTP_LIMITS.request_bytes
    """Bytes of bodies that are in memory at once, of all requests together; more are answered with 503. A tenant may
    have half of them."""


class MonitorSettings(Struct, frozen=True, kw_only=True):
    """Where a process serves metrics and health, without a key."""

    port: Port | None = None
    """The port of `/metrics`, `/livez` and `/readyz`, the same in every role; not opened when not set, and with 0 a
    free one is taken. An API server shows them at its own port besides, `/metrics` to keys that may read metrics."""
    host: str = "127.0.0.1"
    """The address that this port is opened on. It shows the names of queues and tasks to everyone who can reach it."""


class TraceSettings(Struct, frozen=True, kw_only=True):
    """OpenTelemetry traces, from the submission of a task to its execution and its notifications."""

    endpoint: str | None = None
    """Where spans are sent by OTLP over HTTP, such as `http://collector:4318/v1/traces`; nowhere when not set."""
    headers: Secret | None = None
    """Headers for that, such as `authorization=Bearer …`, separated by commas."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """The share of traces that is recorded, of those that begin here; what a caller has decided for its own holds."""


class RedactSettings(Struct, frozen=True, kw_only=True):
    """What people are not shown of payloads, nor find in logs."""

    fields: tuple[str, ...] = DEFAULT_FIELDS
    """Names whose values are shown as `[redacted]`; `*` stands for anything, `-`, `_` and case do not matter."""


class OutboxSettings(Struct, frozen=True, kw_only=True):
    """Databases of programs, from whose outboxes schedulers take tasks."""

    urls: Secret | None = None
    """Where they are, separated by spaces: `postgresql://…` or `sqlite:///…`."""
    tenants: tuple[str, ...] = ("default",)
    """The tenants whose tasks they may have: who can write to an outbox can submit for these."""


class LogSettings(Struct, frozen=True, kw_only=True):
    """What Drumline says of itself, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important events that are written."""
    format: Literal["auto", "text", "json"] = "auto"
    """`text` for people, `json` for machines, `auto` for text on a terminal and JSON elsewhere."""
    tasks: Literal["auto", "off", "debug", "info", "warning"] = "auto"
    """The level of lines about tasks that were submitted, are processed or completed; `auto` is `info` in JSON and
    `debug` in text. Attempts that fail have a line at `warning` in any case."""
    tasks_per_second: Annotated[int, Meta(ge=1, le=100_000)] = 20
    """How many such lines of each kind a process writes in a second; how many it left out it says."""


class Settings(Struct, frozen=True, kw_only=True):
    """All that can be set. Every default works on one machine without any other service."""

    data: Path = Path(".drumline")
    """The folder of everything Drumline keeps on this machine; made if missing, readable by its owner only."""
    host: str = "127.0.0.1"
    """The address that the API listens on."""
    port: Port = 8080
    """The port that the API listens on; 0 takes a free one."""
    drain_delay: timedelta = timedelta(0)
    """How long an API server that was asked to stop still serves, while `/readyz` says 503: longer than a load balancer
    takes to notice."""
    url: str | None = None
    """The server that commands and remote workers talk to; found through the data folder when not set."""
    public_url: str | None = None
    """Where people reach the server, for links in mails and webhooks, which lead to `/ui/…` below it; no links when not
    set. The address of the interface itself, with `/ui` at its end, does as well."""
    api_key: Secret | None = None
    """For the server the first administrator's key, for clients the key to use; made at the first start if not set."""
    secret_key: Secret | None = None
    """What tenants' secrets are sealed with: 32 random bytes in base64, or two such keys while they are changed, the
    new one first; on SQLite one is made in the data folder when not set."""
    store_url: Secret | None = None
    """Where tasks are kept: `sqlite:///path` or `postgresql://…`; a SQLite file in the data folder when not set."""
    queue_url: Secret | None = None
    """The Redis that holds the queue: `redis://…`, `rediss://…` or `redis+cluster://…`; none when not set."""
    queue_prefix: str = "drumline:"
    """What every key and channel in Redis begins with; an empty text for none, in a Redis of its own."""
    bus_url: Secret | None = None
    """The Kafka that events are sent to: `kafka://host:9092,host2:9092`; none when not set."""
    blob_url: str | None = None
    """Where large payloads and results are kept: `file:///folder` or `s3://bucket/prefix?region=…&endpoint=…`. When not
    set, on SQLite the folder `blobs` in the data folder; with PostgreSQL they stay in the database. Every process of an
    installation needs the same."""
    allow_shell: bool | None = None
    """Whether workers run `shell` tasks; when not set, only those of `drumline dev` on SQLite do."""
    allow_http: tuple[str, ...] | None = None
    """What `http` tasks may reach besides the public Internet: networks, hosts, `*` for everything; when not set,
    everything for those of `drumline dev` on SQLite, nothing for others."""
    retention: timedelta = timedelta(days=7)
    """How long ended tasks are kept, with their logs and artifacts; 0 keeps them for ever."""
    poison_after: Count = 3
    """How many workers a task may take down with it before it is failed for good."""
    app_version: str = ""
    """The version of your application, such as the commit that it was built from: workers are shown with it, and charts
    mark when it changes. It holds for apps whose code does not say `Drumline(…, version=…)`."""
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    blobs: BlobSettings = field(default_factory=BlobSettings)
    pauses: PauseSettings = field(default_factory=PauseSettings)
    tasks: TaskDefaultSettings = field(default_factory=TaskDefaultSettings)
    tune: TuneSettings = field(default_factory=TuneSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    pdf: PdfSettings = field(default_factory=PdfSettings)
    smtp: SmtpSettings = field(default_factory=SmtpSettings)
    sms: SmsSettings = field(default_factory=SmsSettings)
    events: EventSettings = field(default_factory=EventSettings)
    outbox: OutboxSettings = field(default_factory=OutboxSettings)
    bus: BusSettings = field(default_factory=BusSettings)
    notify: NotifySettings = field(default_factory=NotifySettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    trace: TraceSettings = field(default_factory=TraceSettings)
    redact: RedactSettings = field(default_factory=RedactSettings)
    sign_in: SignInSettings = field(default_factory=SignInSettings)
    log: LogSettings = field(default_factory=LogSettings)
    limits: Limits = DEFAULT_LIMITS

    @property
    def blob_place(self) -> str | None:
        """The URL of the blob store, or nothing when all is kept in the database."""
        if self.blob_url is not None or self.sqlite_path is None:
            return self.blob_url
        return (self.data.absolute() / BLOB_FOLDER).as_uri()

    @property
    def sqlite_path(self) -> Path | None:
        """The SQLite file that is the store, or nothing when the store is a server."""
        if self.store_url is None:
            return self.data / SQLITE_FILE
        if self.store_url.startswith(SQLITE):
            return Path(self.store_url.removeprefix(SQLITE))
        return None
