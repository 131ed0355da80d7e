// Made by `make reference` from the table of operations in src/drumline/api: change it there.

/** A rule, and where it stands. Durations are seconds. */
export type AlertBody = {
  id: string;
  name: string;
  summary: string;
  measure: AlertMeasure;
  threshold: number;
  window: number | null;
  for: number;
  least: number;
  severity: Severity;
  task: string | null;
  queue: string | null;
  schedule: string | null;
  slo: string | null;
  note: string | null;
  enabled: boolean;
  muted_until: string | null;
  state: "firing" | "ok" | "pending" | "resolved";
  since: string;
  value: number | null;
  evaluated_at: string | null;
  created_at: string;
};

/** A page of rules, newest first. */
export type AlertList = {
  items: AlertBody[];
  next_cursor: string | null;
};

/** What a rule looks at. */
export type AlertMeasure = "failure_rate" | "wait_p95" | "run_p95" | "backlog" | "oldest_wait" | "late_schedule" | "burn_rate";

/** Changes to a rule: absent fields stay, and null removes what is optional. */
export type AlertPatch = {
  name?: string | undefined;
  /** Above it the rule is breached. A share such as 0.05 or `5%` for `failure_rate`; seconds or a duration such as `30s` for `wait_p95`, `run_p95`, `oldest_wait` and `late_schedule`; a number of tasks for `backlog`; a multiple for `burn_rate`. */
  threshold?: number | string | undefined;
  /** The time that is looked at: from 1m to 24h, 5m if not given; `late_schedule` from 1m to 6h, 1h if not given; `burn_rate` from 1h to 72h, 1h if not given; none for `oldest_wait`. Seconds, or text such as "1h30m" or "PT1H30M". */
  window?: number | string | undefined;
  /** How long it has to be breached without a break before it fires, at most 24h. Seconds, or text such as "1h30m" or "PT1H30M". */
  for?: number | string | undefined;
  /** How many tasks there have to be in the window: with fewer, nothing is breached. Not for `backlog`, `oldest_wait` and `late_schedule`. */
  least?: number | undefined;
  severity?: Severity | undefined;
  /** Only tasks of this name. */
  task?: string | null | undefined;
  /** Only tasks in this queue. */
  queue?: string | null | undefined;
  /** For `late_schedule`: only the schedule of this name. */
  schedule?: string | null | undefined;
  /** What to do about it; it is part of the notification. */
  note?: string | null | undefined;
  enabled?: boolean | undefined;
  /** Until when nobody is notified, as a time or as a duration from now; null ends it. */
  muted_until?: string | number | null | undefined;
};

/** A rule that is asked for. */
export type AlertRequest = {
  /** What people call it; one of a name. */
  name: string;
  measure: AlertMeasure;
  /** Above it the rule is breached. A share such as 0.05 or `5%` for `failure_rate`; seconds or a duration such as `30s` for `wait_p95`, `run_p95`, `oldest_wait` and `late_schedule`; a number of tasks for `backlog`; a multiple for `burn_rate`. */
  threshold: number | string;
  /** The time that is looked at: from 1m to 24h, 5m if not given; `late_schedule` from 1m to 6h, 1h if not given; `burn_rate` from 1h to 72h, 1h if not given; none for `oldest_wait`. Seconds, or text such as "1h30m" or "PT1H30M". */
  window?: number | string | null | undefined;
  /** How long it has to be breached without a break before it fires, at most 24h. Seconds, or text such as "1h30m" or "PT1H30M". */
  for?: number | string | undefined;
  /** How many tasks there have to be in the window: with fewer, nothing is breached. Not for `backlog`, `oldest_wait` and `late_schedule`. */
  least?: number | undefined;
  severity?: Severity | undefined;
  /** Only tasks of this name. */
  task?: string | null | undefined;
  /** Only tasks in this queue. */
  queue?: string | null | undefined;
  /** For `late_schedule`: only the schedule of this name. */
  schedule?: string | null | undefined;
  /** For `burn_rate`: the id of the objective. */
  slo?: string | null | undefined;
  /** What to do about it; it is part of the notification. */
  note?: string | null | undefined;
  /** Whether it is evaluated. */
  enabled?: boolean | undefined;
};

/** The state of this process. */
export type Alive = {
  status: "DOWN" | "UP";
};

/** What is there of what was waited for, by its place in the request; a `retry` leaves no record. */
export type AnswerBody = {
  place: number;
  record?: RecordBody | null | undefined;
};

/** A schedule that a module of an app declares. */
export type AppSchedule = {
  /** One of modules. */
  module: string;
  schedule: ScheduleRequest;
};

/** A file that a task made. */
export type ArtifactBody = {
  name: string;
  content_type: string;
  size: number;
  created_at: string;
};

/** The files that a task made. */
export type ArtifactList = {
  items: ArtifactBody[];
  next_cursor?: string | null | undefined;
};

/** One execution of a task. `epoch` rises with each; `attempt` counts those that matter for retries. */
export type AttemptBody = {
  attempt: number;
  epoch: number;
  outcome: "running" | "completed" | "failed" | "cancelled" | "skipped" | "retried" | "snoozed" | "released" | "crashed" | "parked" | "restarted";
  worker: string | null;
  started_at: string | null;
  finished_at: string | null;
  error: ErrorBody | null;
};

/** A task's executions, oldest first. */
export type AttemptList = {
  items: AttemptBody[];
  next_cursor?: string | null | undefined;
};

/** Who did what, when, from where and why. */
export type AuditBody = {
  id: string;
  tenant: string;
  seq: number;
  at: string;
  act: string;
  phase: Phase;
  target: string;
  key: string;
  key_name: string;
  address: string;
  request_id: string;
  reason: string | null;
  before: unknown;
  after: unknown;
  problem: string | null;
  asks: string | null;
  hash: string;
};

/** A page of the audit log, newest first. */
export type AuditList = {
  items: AuditBody[];
  next_cursor: string | null;
};

/** What a backfill is about: fire times in the span, and those among them that have no run and get one. */
export type BackfillBody = {
  count: number;
  missing: number;
  first: string | null;
  last: string | null;
  ends_at: string | null;
  dry_run: boolean;
};

/** Make runs for the fire times of a span, `end` included, that have none; at so many a second. */
export type BackfillRequest = {
  /** The first fire time that may be made up for. */
  start: string;
  /** The last one; not in the future. */
  end: string;
  /** Runs that start in a second; at most 10,000 runs in all. */
  rate?: number | undefined;
  /** Only tell what would be done. */
  dry_run?: boolean | undefined;
};

export type Backoff = {
  base?: number | undefined;
  factor?: number | undefined;
  cap?: number | undefined;
  jitter?: number | undefined;
};

/** How long to wait before each retry, in seconds: base, base * factor, … at most cap. */
export type BackoffBody = {
  base: number;
  factor: number;
  cap: number;
  jitter: number;
};

/** The answers to a batch, in its order. */
export type BatchBody = {
  tasks: BatchItem[];
};

/** The answer to one task of a batch: its id, with warnings where it is doubtful, or the problem with it. */
export type BatchItem = {
  id?: string | undefined;
  created?: boolean | undefined;
  collapsed?: "replaced" | "postponed" | "dropped" | null | undefined;
  error?: Problem | undefined;
  warnings?: SubmissionWarning[] | undefined;
};

/** Many tasks; each is read on its own, so that a bad one does not hold up the others. */
export type BatchRequest = {
  /** The tasks; an item that is not valid is answered with its problem. */
  tasks: TaskRequest[];
};

/** What the server knows better: leases lost, tasks to stop, whether to take no more. */
export type BeatBody = {
  is_open: boolean;
  lost: string[];
  cancelled: string[];
  should_drain: boolean;
  config: number;
};

export type BeatRequest = {
  held?: LeaseBody[] | undefined;
  usage?: UsageBody | null | undefined;
  again?: boolean | undefined;
};

/** What can be done to many tasks. */
export type BulkAct = "retry" | "discard" | "cancel" | "reschedule";

/** The state of a bulk operation. Of a dry run there is no id, no state and no time: nothing was begun. */
export type BulkBody = {
  id: string | null;
  act: BulkAct;
  state: BulkState | null;
  total: number;
  done: number;
  skipped: number;
  failed: number;
  rate: number | null;
  filter: BulkFilter | null;
  reason: string | null;
  created_at: string | null;
  finished_at: string | null;
  sample?: string[] | undefined;
  oldest_at?: string | null | undefined;
  newest_at?: string | null | undefined;
};

export type BulkFilter = {
  queue?: string | null | undefined;
  name?: string | null | undefined;
  tag?: string | null | undefined;
  job?: string | null | undefined;
  /** Failures of one cause share it. */
  fingerprint?: string | null | undefined;
  /** The class of the error. */
  kind?: string | null | undefined;
  reason?: Reason | null | undefined;
  /** Failed at this time or later. */
  since?: string | null | undefined;
  /** Failed before this time. */
  until?: string | null | undefined;
  /** Means tasks that stand so, and not failures. */
  status?: Status[] | undefined;
  idempotency_key?: string | null | undefined;
  worker?: string | null | undefined;
  /** Terms such as `name:charge* error:timeout`. Means tasks, and not failures. */
  expression?: string | null | undefined;
};

/** A page of bulk operations, newest first. */
export type BulkList = {
  items: BulkBody[];
  next_cursor: string | null;
};

export type BulkRequest = {
  act: BulkAct;
  /** Tasks, one by one. */
  ids?: string[] | undefined;
  filter?: BulkFilter | null | undefined;
  /** Mean everything there is. */
  all?: boolean | undefined;
  /** Tasks per second, at most; as fast as it goes when absent. */
  rate?: number | null | undefined;
  /** For cancel: end running tasks now, whatever their worker does. */
  force?: boolean | undefined;
  /** For reschedule: when to run. */
  run_at?: string | null | undefined;
  /** For reschedule: how far from now to run. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  /** For reschedule. */
  priority?: number | string | null | undefined;
  /** Why, for those who will wonder. */
  reason?: string | null | undefined;
  /** Change nothing; tell what would be done. */
  dry_run?: boolean | undefined;
};

/** The state of a bulk operation. */
export type BulkState = "running" | "completed" | "aborted";

/** Whether to end running tasks now, without waiting for their workers, and why the job is cancelled. */
export type CancelJobRequest = {
  force?: boolean | undefined;
  reason?: string | null | undefined;
};

/** Whether to end a running task now, without waiting for its worker to stop it. */
export type CancelRequest = {
  force?: boolean | undefined;
};

/** The kinds of reasons why a task waits. Programs use them: they stay stable. */
export type Cause = "ended" | "running" | "stopping" | "dependency" | "waiting" | "scheduled" | "backing_off" | "queue_paused" | "name_paused" | "limited" | "no_worker" | "workers_busy" | "behind" | "next" | "expired" | "expires";

/** A chain: how far it is sound, and what is wrong with it, if anything. */
export type ChainBody = {
  tenant: string;
  is_sound: boolean;
  rows: number;
  head: string;
  fault: FaultBody | null;
};

/** What a worker serves from now on. */
export type ChangeSessionRequest = {
  queues?: string[] | undefined;
  capacity: number;
};

/** A task that another one has started: which it is, and the call that started it. */
export type ChildBody = {
  id: string;
  name: string;
  queue: string;
  status: Status;
  call: string;
  key: string | null;
  place: number;
  on_end: "abandon" | "cancel";
  created_at: string | null;
  started_at: string | null;
  finished_at: string | null;
};

/** Children of a task in the order of the names and keys of their calls. */
export type ChildList = {
  items: ChildBody[];
  next_cursor: string | null;
};

/** A piece of an attempt's log: the lease's task, epoch and nonce, and `seq` counting from 0. */
export type ChunkBody = {
  task: string;
  epoch: number;
  seq: number;
  text: string;
  nonce?: string | null | undefined;
};

/** The tasks that the worker now holds, best first. */
export type ClaimBody = {
  tasks: ClaimedBody[];
};

export type ClaimRequestBody = {
  limit?: number | undefined;
  /** Seconds to wait for the first task. */
  wait?: number | undefined;
  claim_id?: string | null | undefined;
  again?: boolean | undefined;
  held?: Record<string, number> | undefined;
  queues?: string[] | null | undefined;
};

/** A task to run once. What is absent has its default: priority 0, no timeout, 3 retries, and so on. */
export type ClaimedBody = {
  lease: LeaseBody;
  name: string;
  queue: string;
  payload: unknown;
  attempt: number;
  priority?: number | undefined;
  tenant?: string | undefined;
  retries?: number | undefined;
  backoff?: BackoffBody | null | undefined;
  timeout?: number | null | undefined;
  tags?: string[] | undefined;
  notify?: NotifyBody[] | undefined;
  fire_time?: string | null | undefined;
  traceparent?: string | null | undefined;
  recorded?: number | undefined;
  records?: RecordPageBody | null | undefined;
};

export type Collapse = {
  /** Run once, so long after the last submission of the key. Seconds, or text such as "1h30m" or "PT1H30M". */
  debounce?: number | string | null | undefined;
  /** Run the first at once, and all that come within the time as one at its end. Seconds, or text such as "1h30m" or "PT1H30M". */
  throttle?: number | string | null | undefined;
  /** Make none while one of the key is queued, or (`running`) is queued or running. */
  singleton?: "queued" | "running" | null | undefined;
  /** Make one within the time, whatever becomes of it. Seconds, or text such as "1h30m" or "PT1H30M". */
  unique?: number | string | null | undefined;
  /** What submissions have in common, within their name; unless said, their payload. */
  key?: string | null | undefined;
  /** With `debounce`: run at the latest so long after the first submission. Seconds, or text such as "1h30m" or "PT1H30M". */
  at_most?: number | string | null | undefined;
  /** With `debounce` and `throttle`: whose payload the task has, `latest` (unless said) or `first`. */
  keep?: "first" | "latest" | null | undefined;
};

/** One part of the system. Details are for keys of the whole installation that may read figures. */
export type Component = {
  status: "DEGRADED" | "DOWN" | "UP";
  details?: Record<string, unknown> | undefined;
};

/** A version of the runtime configuration; 0 is that nothing was ever set. */
export type ConfigBody = {
  version: number;
  settings: Record<string, unknown>;
  changed_at: string | null;
  changed_by: string | null;
  reason: string | null;
};

/** Keys to set and keys to unset, all or none. */
export type ConfigChange = {
  set?: Record<string, unknown> | undefined;
  unset?: string[] | undefined;
  version?: number | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** Versions, newest first. */
export type ConfigHistory = {
  items: ConfigBody[];
  next_cursor: string | null;
};

/** One who passes events on, and how far it has come. */
export type ConsumerBody = {
  name: string;
  position: number;
  behind: number;
  oldest_at: string | null;
  moved_at: string;
};

/** Those who pass events on. */
export type ConsumerList = {
  items: ConsumerBody[];
  next_cursor?: string | null | undefined;
};

/** How many tasks have a status; at least so many where `is_more`. */
export type CountBody = {
  status: Status;
  count: number;
  is_more: boolean;
};

/** The counts of all statuses. */
export type CountList = {
  items: CountBody[];
};

/** How many tasks of a job have each status. `running` is null in lists, where it is not counted. */
export type CountsBody = {
  total: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  running: number | null;
};

/** The tasks in a row that took longest, and how many seconds they took together, waiting not counted. */
export type CriticalPathBody = {
  keys: string[];
  seconds: number;
};

/** A day by the schedule's clock, and how often the schedule fires on it. */
export type DayBody = {
  day: string;
  count: number;
};

/** What was decided about a group. */
export type Decision = "open" | "acknowledged" | "resolved" | "ignored";

/** One event on its way to one target, and what became of it. */
export type DeliveryBody = {
  id: string;
  subscription: string | null;
  event_id: string;
  event_type: string;
  subject: string;
  channel: string;
  target: string;
  state: DeliveryWord;
  attempts: number;
  next_at: string | null;
  status: number | null;
  response: string | null;
  error: string | null;
  latency_ms: number | null;
  created_at: string;
  finished_at: string | null;
  event?: unknown | undefined;
};

/** A page of deliveries, newest first. */
export type DeliveryList = {
  items: DeliveryBody[];
  next_cursor: string | null;
};

/** The state of a delivery. */
export type DeliveryWord = "pending" | "delivered" | "failed";

/** How many runs that had not started were given up. */
export type DroppedBody = {
  dropped: number;
};

/** How long tasks of each name that was asked for usually wait and run, in that order. */
export type DurationsList = {
  items: UsualDurations[];
};

/** One task that another needs. */
export type EdgeBody = {
  from: string;
  to: string;
};

/** The payload of a task before it was changed: attempts up to `epoch` ran with it. */
export type EditBody = {
  epoch: number;
  at: string;
  payload: unknown;
};

/** Those that have ended, or do not exist (any more). */
export type EndedBody = {
  ids: string[];
};

/** Tasks that the caller waits for. */
export type EndedRequest = {
  /** Their ids. */
  ids: string[];
};

/** What went wrong in an attempt. */
export type ErrorBody = {
  kind: string;
  message: string;
  traceback: string;
};

/** What went wrong, for people and for grouping. */
export type ErrorInfo = {
  kind: string;
  message: string;
  traceback?: string | undefined;
};

/** The latest failure of a group: its task, and its message as it was. */
export type ExampleBody = {
  task: string;
  message: string;
};

/** How tasks are written. */
export type ExportFormat = "csv" | "jsonl";

/** The attempt failed; `retry_after` seconds override the task's own backoff. */
export type FailedReport = {
  outcome: "failed";
  lease: LeaseBody;
  error: ErrorInfo;
  permanent?: boolean | undefined;
  retry_after?: number | null | undefined;
};

/** A task that failed for good. Failures of one cause share their fingerprint. */
export type FailureBody = {
  id: string;
  tenant: string;
  name: string;
  queue: string;
  failed_at: string;
  reason: Reason;
  kind: string;
  message: string;
  fingerprint: string;
  attempts: number;
  job: string | null;
};

/** All that is known about a failure. */
export type FailureFile = {
  failure: FailureBody;
  task: TaskBody;
  attempts: AttemptBody[];
  edits: EditBody[];
};

/** A page of failures, the latest first. */
export type FailureList = {
  items: FailureBody[];
  next_cursor: string | null;
  is_partial?: boolean | undefined;
};

/** What is wrong with a chain: the first row at which it shows, and how. */
export type FaultBody = {
  seq: number;
  what: string;
};

/** A fire time in UTC and by the schedule's clock, with a note where that clock is set forward or back just then. */
export type FireBody = {
  utc: string;
  local: string;
  note: string | null;
};

/** A task as the flow document writes it: with `type` for its name. All other fields are taken too. */
export type FlowRequest = {
  /** The same as type. */
  name?: string | undefined;
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The queue that workers take it from; unless said, as the task's code declares, or default. */
  queue?: string | null | undefined;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | null | undefined;
  /** Run it so much later than now; not together with run_at. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  /** Run it at this time; not together with delay. */
  run_at?: string | null | undefined;
  /** How often to try again after a failure; unless said, as the task's code declares, or as the installation is set to: 3. */
  retries?: number | null | undefined;
  /** How long to wait before each retry; a number is the base of the default 2, 4, 8 s. */
  backoff?: Backoff | number | null | undefined;
  /** Stop an attempt that takes longer; unless said, than the task's code declares. Seconds, or text such as "1h30m" or "PT1H30M". */
  timeout?: number | string | null | undefined;
  /** Words to find it by; unless said, those that the task's code declares. */
  tags?: string[] | null | undefined;
  /** Whom to tell when it ends. */
  notify?: NotifyTarget[] | null | undefined;
  /** Whose limit it counts to, where a limit has keys. */
  limit_key?: string | null | undefined;
  /** Cancel it if it has not started so long after it was due; at most 366 days. Seconds, or text such as "1h30m" or "PT1H30M". */
  expires?: number | string | null | undefined;
  /** Submitted twice under one key, a task is stored once; another body under it is refused. */
  idempotency_key?: string | null | undefined;
  /** The same as idempotency_key. */
  idempotencyKey?: string | null | undefined;
  /** Let an earlier task of its key stand for it: debounce, throttle, singleton or unique. */
  collapse?: Collapse | null | undefined;
  /** What kind of task it is; the same as name. */
  type?: string | undefined;
};

/** A task that is stored durably with some `records` of another; `created` is false if it was there already. */
export type ForkBody = {
  id: string;
  forked_from: string;
  records: number;
  created: boolean;
};

/** Where a new task goes other ways than the one that it is made from. */
export type ForkRequest = {
  /** The name of a step, sleep or wait of the task; records before it are copied. */
  from: string;
  /** Its key, if it has one. */
  key?: string | null | undefined;
  /** Another payload: any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The sender's: the same request sent twice makes one task. Without one each does. */
  id?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

export type GraphBody = {
  id: string;
  name: string;
  status: JobStatus;
  nodes: NodeBody[];
  edges: EdgeBody[];
  critical_path: CriticalPathBody;
};

/** Failures of one cause. The message is what they have in common: what varies is folded away. */
export type GroupBody = {
  fingerprint: string;
  kind: string;
  message: string;
  count: number;
  first_at: string;
  last_at: string;
  names: string[];
  queues: string[];
  example: ExampleBody | null;
  state: GroupState;
  decided_at: string | null;
  decided_by: string | null;
  ignored_until: string | null;
  note: string | null;
  owner: string | null;
  trend: number[] | null;
};

/** A page of groups. */
export type GroupList = {
  items: GroupBody[];
  next_cursor: string | null;
};

/** How groups are sorted, each downwards. */
export type GroupOrder = "last_seen" | "count";

/** Where a group stands now. */
export type GroupState = "open" | "acknowledged" | "resolved" | "regressed" | "ignored";

/** The state of the whole: DOWN if tasks cannot be stored, DEGRADED if they only run slower. */
export type Health = {
  status: "DEGRADED" | "DOWN" | "UP";
  components: Record<string, Component>;
};

/** A task that a job waits for; `blocks` others of the job cannot start before it ends. */
export type HoldingTaskBody = {
  key: string;
  task_id: string;
  name: string;
  status: Status;
  attempt: number;
  started_at: string | null;
  blocks: number;
  reasons: ReasonBody[];
};

/** One time that an alert fired. */
export type IncidentBody = {
  alert: string;
  name: string;
  severity: Severity;
  fired_at: string;
  resolved_at: string | null;
  value: number;
  peak: number;
  reason: string | null;
};

/** A page of incidents, the latest first. */
export type IncidentList = {
  items: IncidentBody[];
  next_cursor: string | null;
};

/** An answer from all shards. */
export type Incomplete = {
  /** The shards that could not be reached, and what they hold is missing; absent if none is. */
  incomplete?: string[] | undefined;
};

/** What runs here. Details are for those who may read figures. */
export type InfoBody = {
  app: Record<string, unknown>;
};

/** One task of a bulk operation, and why nothing was done about it if that is so. */
export type ItemBody = {
  seq: number;
  id: string;
  outcome: ItemOutcome;
  error: string | null;
};

/** A page of a bulk operation's tasks, in their order. */
export type ItemList = {
  items: ItemBody[];
  next_cursor: string | null;
};

/** What became of one task of a bulk operation. */
export type ItemOutcome = "waiting" | "done" | "skipped" | "failed";

/** One execution of a task of a job; `reason` is what the error says that it ended with. */
export type JobAttemptBody = {
  attempt: number;
  epoch: number;
  outcome: "running" | "completed" | "failed" | "cancelled" | "skipped" | "retried" | "snoozed" | "released" | "crashed" | "parked" | "restarted";
  worker: string | null;
  started_at: string | null;
  finished_at: string | null;
  key: string;
  task_id: string;
  reason: string | null;
};

/** Executions of a job's tasks, the latest first; `is_more` if there were others before them. */
export type JobAttemptList = {
  items: JobAttemptBody[];
  is_more: boolean;
};

/** The state of a job. `waits_for` is the number of jobs that have to complete before it begins. */
export type JobBody = {
  id: string;
  name: string;
  owner: string | null;
  status: JobStatus;
  counts: CountsBody;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  reason: string | null;
  cancel_requested: boolean;
  depends_on: string[];
  waits_for: number;
  retries: number;
  backoff: BackoffBody;
  notify: NotifyBody[];
  tags: string[];
  idempotency_key: string | null;
  schedule_id: string | null;
  fire_time: string | null;
};

/** A page of jobs, newest first. */
export type JobList = {
  items: JobBody[];
  next_cursor: string | null;
  is_partial?: boolean | undefined;
};

export type JobRequest = {
  /** What the job is called; several may have the same name. */
  name: string;
  /** Whose job it is. */
  owner?: string | null | undefined;
  /** The tasks by key. What they need must be there, and there must be no cycle. */
  tasks: Record<string, JobTaskRequest>;
  /** For tasks that say nothing else. */
  retries?: number | null | undefined;
  /** For tasks that say nothing else. */
  backoff?: Backoff | number | null | undefined;
  /** Whom to tell when the job as a whole ends; its tasks have a `notify` of their own. */
  notify?: NotifyTarget[] | undefined;
  /** Jobs that must have completed before this one begins. */
  depends_on?: string[] | undefined;
  /** Make it the pattern of a schedule: each firing is a job of its own. */
  schedule?: JobSchedule | null | undefined;
  /** Submitted twice under one key, a job is stored once; another body under it is refused. */
  idempotency_key?: string | null | undefined;
  /** The same as idempotency_key. */
  idempotencyKey?: string | null | undefined;
  /** Words to find it by. */
  tags?: string[] | undefined;
};

/** One run of a job, with its tasks by key; null if they are too many to be read. */
export type JobRunBody = {
  job: JobBody;
  tasks: Record<string, RunTaskBody> | null;
};

export type JobRunsBody = {
  rows: RunRowBody[];
  runs: JobRunBody[];
  is_cut: boolean;
};

/** The schedule that a job is submitted with: it makes the job, and has its name unless said otherwise. */
export type JobSchedule = {
  /** The job's name unless said otherwise. */
  name?: string | null | undefined;
  /** Five fields, or six with seconds first, or a form such as @daily. */
  cron?: string | null | undefined;
  /** Fire every so often, at least a second, by real time. Seconds, or text such as "1h30m" or "PT1H30M". */
  interval?: number | string | null | undefined;
  /** Fire once, at this time. */
  run_at?: string | null | undefined;
  /** The IANA time zone by whose clock `cron` goes. */
  timezone?: string | undefined;
  /** What becomes of firings that were due while no scheduler was there. */
  misfire?: Misfire | undefined;
  /** What a firing does while the previous run has not ended. */
  overlap?: Overlap | undefined;
  /** Do not fire before this time; an interval is counted from it. */
  start?: string | null | undefined;
  /** Do not fire after this time. */
  end?: string | null | undefined;
  /** Spread firings over at most a day, each by its own share. Seconds, or text such as "1h30m" or "PT1H30M". */
  jitter?: number | string | undefined;
  /** Finish after so many runs. */
  max_runs?: number | null | undefined;
  /** Create it without letting it fire. */
  paused?: boolean | undefined;
};

/** The status of a job. It has ended when every task has: FAILED if one failed, else CANCELLED if one was. */
export type JobStatus = "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED";

export type JobTaskRequest = {
  /** What kind of task it is; its key unless said otherwise. */
  name?: string | null | undefined;
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The queue that workers take it from; unless said, as the task's code declares, or default. */
  queue?: string | null | undefined;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | null | undefined;
  /** Run it so much later than its release; not together with run_at. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  /** Run it at this time; not together with delay. */
  run_at?: string | null | undefined;
  /** How often to try again after a failure; the job's unless said otherwise. */
  retries?: number | null | undefined;
  /** How long to wait before each retry; a number is the base of the default 2, 4, 8 s. */
  backoff?: Backoff | number | null | undefined;
  /** Stop an attempt that takes longer; unless said, than the task's code declares. Seconds, or text such as "1h30m" or "PT1H30M". */
  timeout?: number | string | null | undefined;
  /** Words to find it by; unless said, those that the task's code declares. */
  tags?: string[] | null | undefined;
  /** Whom to tell when it ends. */
  notify?: NotifyTarget[] | null | undefined;
  /** Whose limit it counts to, where a limit has keys. */
  limit_key?: string | null | undefined;
  /** Cancel it if it has not started so long after it was due; at most 366 days. Seconds, or text such as "1h30m" or "PT1H30M". */
  expires?: number | string | null | undefined;
  /** Short for a shell task: a text for the shell, or a program with its arguments. */
  command?: string | string[] | null | undefined;
  /** The keys of the tasks of this job that must have ended first. */
  needs?: string[] | undefined;
  /** When it runs, once all that it needs has ended. */
  run_if?: RunIf | undefined;
};

export type JobWhyBody = {
  job_id: string;
  status: JobStatus;
  reasons: ReasonBody[];
  tasks: HoldingTaskBody[];
  running: number;
  queued: number;
  blocked: number;
  is_more: boolean;
};

/** An API key, without the key itself. */
export type KeyBody = {
  id: string;
  name: string;
  prefix: string;
  tenant: string;
  role: Role;
  scopes: Permission[];
  names: string[];
  queues: string[];
  rate_limit: string | null;
  enabled: boolean;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  revoked_at: string | null;
  replaces: string | null;
  last_used_at: string | null;
  uses: number;
};

/** A page of keys, newest first. */
export type KeyList = {
  items: KeyBody[];
  next_cursor: string | null;
};

/** A request for a new key. Absent fields do not restrict it. */
export type KeyRequest = {
  /** What people call it. */
  name: string;
  /** Whose it is: the caller's own tenant if left out; `*` for every tenant's. */
  tenant?: string | "*" | null | undefined;
  /** What it may do at most. */
  role?: Role | undefined;
  /** Permissions of its role that it keeps; none named means all. */
  scopes?: ("tasks:read" | "tasks:submit" | "tasks:control" | "tasks:signal" | "queues:read" | "queues:control" | "workers:read" | "workers:control" | "workers:protocol" | "schedules:read" | "schedules:write" | "events:read" | "subscriptions:read" | "subscriptions:write" | "alerts:read" | "alerts:write" | "secrets:read" | "secrets:write" | "metrics:read" | "system:read" | "audit:read" | "keys:manage" | "tenants:read" | "tenants:manage" | "config:read" | "config:write" | "shards:read" | "shards:manage")[] | undefined;
  /** Names of tasks that it may submit or run; none means all. */
  names?: string[] | undefined;
  /** Queues that it may submit into or serve; none means all. */
  queues?: string[] | undefined;
  /** How often it may ask, such as "100/60s" or "unlimited"; what its role may if left out. */
  rate_limit?: string | null | undefined;
  /** When it stops opening anything; not together with expires_in. */
  expires_at?: string | null | undefined;
  /** The same, counted from now. */
  expires_in?: number | string | null | undefined;
};

/** A signal to whichever task of the tenant waits for its name with this key as its correlation. */
export type KeyedSignalRequest = {
  /** What tasks that wait for it are found by. */
  key: string;
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The sender's: the same signal sent twice is kept once. Without one each is another. */
  id?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** The last run that started. */
export type LastRunBody = {
  fire_time: string;
  status: string | null;
  task_id: string | null;
  job_id: string | null;
};

/** The right to one attempt of a task. Send it back as it came. */
export type LeaseBody = {
  task: string;
  epoch: number;
  nonce: string;
};

/** Whether the session is closed now; if not, the worker is not asked to drain any more and works on. */
export type LeaveBody = {
  has_left: boolean;
};

/** A limit, and how much of it is used. */
export type LimitBody = {
  name: string;
  tenant: string;
  queue: string | null;
  task: string | null;
  key: string | null;
  max_concurrent: number | null;
  rate: string | null;
  running: number;
  created_at: string;
  shards: ShareBody[];
};

/** The limits there are, by name. */
export type LimitList = {
  items: LimitBody[];
};

/** A request for a limit: which tasks it matches, and how many may run or start. */
export type LimitRequest = {
  /** The queue that it is about; without one every queue. */
  queue?: string | null | undefined;
  /** The task name that it is about; without one every name. */
  task?: string | null | undefined;
  /** How many may run at once, over all workers. */
  max_concurrent?: number | null | undefined;
  /** How many may start in any stretch of a time. */
  rate?: string | null | undefined;
  /** Count for each key by itself: `limit_key`, or where in the payload it is. */
  key?: string | null | undefined;
};

/** The places of the pieces that were not kept, counting from 0: send these again. */
export type LogBody = {
  unavailable?: number[] | undefined;
};

/** The level of a line, from the least severe. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** A line that was found. `line` is its number in the log of the task; `is_cut` says that `text` is a part of it. */
export type LogLineBody = {
  task_id: string;
  name: string;
  queue: string;
  status: Status;
  attempt: number | null;
  line: number;
  at: string | null;
  level: LogLevel | null;
  text: string;
  is_cut: boolean;
};

/** Lines that were found, those of the newest task first, and how far the search got. */
export type LogLineList = {
  items: LogLineBody[];
  next_cursor: string | null;
  is_partial: boolean;
  tasks: number;
  back_to: string | null;
};

export type LogRequest = {
  chunks: ChunkBody[];
  partial?: boolean | undefined;
};

/** A new API key. `key` is shown this once; only its digest is kept. */
export type MadeKeyBody = {
  id: string;
  name: string;
  prefix: string;
  tenant: string;
  role: Role;
  scopes: Permission[];
  names: string[];
  queues: string[];
  rate_limit: string | null;
  enabled: boolean;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  revoked_at: string | null;
  replaces: string | null;
  last_used_at: string | null;
  uses: number;
  key: string;
};

/** Which failures, by exactly one of `ids`, `filter` and `all`, and how many of them in a second at most. */
export type ManyRequest = {
  /** Tasks, one by one. */
  ids?: string[] | undefined;
  filter?: BulkFilter | null | undefined;
  /** Mean everything there is. */
  all?: boolean | undefined;
  /** Tasks per second, at most; as fast as it goes when absent. */
  rate?: number | null | undefined;
  /** Why, for those who will wonder. */
  reason?: string | null | undefined;
  /** Change nothing; tell what would be done. */
  dry_run?: boolean | undefined;
};

/** Whose key it is that was sent, and what may be done with it. */
export type MeBody = {
  id: string;
  name: string;
  tenant: string;
  role: Role;
  permissions: Permission[];
  names: string[];
  queues: string[];
  rate_limit: string | null;
};

/** One number of a figure. */
export type MeasurementBody = {
  statistic: string;
  value: number;
};

/** A figure, summed over everything that was not asked for apart. */
export type MetricBody = {
  name: string;
  description: string;
  baseUnit: string | null;
  measurements: MeasurementBody[];
  availableTags: TagBody[];
};

/** What becomes of firings that were due while no scheduler was there. */
export type Misfire = "skip" | "once" | "all";

/** Which slots another shard takes over: new work of theirs goes there. */
export type MoveRequest = {
  /** The shard that takes them. Without it they are spread evenly over all active shards. */
  taker?: string | null | undefined;
  /** The shard that gives them. Without it those with most slots do. */
  giver?: string | null | undefined;
  /** How many. Without it all that `giver` has, or as many as make it even. */
  slots?: number | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** What was moved. */
export type MovedBody = {
  slots: number;
};

/** The figures there are. */
export type NamesBody = {
  names: string[];
};

export type NewRecordBody = {
  lease: LeaseBody;
  name: string;
  key?: string | undefined;
  status?: "done" | "failed" | "tried" | undefined;
  value?: unknown | undefined;
  tries?: number | undefined;
  took?: number | undefined;
  delay?: number | undefined;
};

export type NodeBody = {
  key: string;
  task_id: string;
  name: string;
  status: Status;
  needs: string[];
  run_if: RunIf;
  attempt: number;
  started_at: string | null;
  finished_at: string | null;
  reason: string | null;
  cause: string | null;
  items: NodeItems | null;
  slack: number;
  is_critical: boolean;
};

/** How far a map is: of how many items the tasks have ended, and of how many of these not well. */
export type NodeItems = {
  total: number;
  ended: number;
  failed: number;
};

/** Whom to tell when the task ends, and on which outcomes. */
export type NotifyBody = {
  /** The outcomes that are told of. Without it `completed` and `failed`. */
  on: ("cancelled" | "completed" | "failed")[];
  webhook: string | null;
  email: string | null;
};

/** Whom to tell when the task or job that names it ends, and on which outcomes. */
export type NotifyTarget = {
  /** The outcomes that are told of. Without it `completed` and `failed`. */
  on?: ("cancelled" | "completed" | "failed")[] | undefined;
  webhook?: string | null | undefined;
  email?: string | null | undefined;
};

/** What has to go well. */
export type Objective = "success" | "start";

export type OpenBody = {
  session: string;
  beat_every: number;
  ttl: number;
  wants_held: boolean;
  wants_nonce: boolean;
  tells_stops: boolean;
  answers_partly: boolean;
  keeps_records: boolean;
  has_rounds: boolean;
  undoes_drains: boolean;
  wants_usage: boolean;
};

/** What a worker says of itself when it starts. No `queues` means all queues. */
export type OpenRequest = {
  types: TaskType[];
  capacity: number;
  queues?: string[] | undefined;
  host?: string | undefined;
  pid?: number | undefined;
  version?: string | undefined;
  label?: string | undefined;
  /** The applications that it runs with their versions, such as `shop 1.4.2, billing 7`. Servers of an earlier version refuse the field: register again without it. */
  app_version?: string | undefined;
};

/** How a child ended; without a state it has not. */
export type OutcomeBody = {
  place: number;
  child: string;
  state?: "blocked" | "queued" | "running" | "completed" | "failed" | "cancelled" | "skipped" | undefined;
  result?: unknown | undefined;
  error?: ErrorBody | null | undefined;
};

/** Outcomes in the order of their places, and whether there are more. */
export type OutcomePageBody = {
  outcomes?: OutcomeBody[] | undefined;
  has_more?: boolean | undefined;
};

/** The call whose outcomes are wanted, and the place to begin at. */
export type OutcomesRequest = {
  lease: LeaseBody;
  name: string;
  key?: string | undefined;
  first?: number | undefined;
};

/** What a firing does while the previous run has not ended. */
export type Overlap = "allow" | "skip" | "queue" | "cancel_previous";

/** Why a queue is paused, for those who will wonder. */
export type PauseRequest = {
  reason?: string | null | undefined;
};

/** What may be done; the names are the scopes of keys. */
export type Permission = "tasks:read" | "tasks:submit" | "tasks:control" | "tasks:signal" | "queues:read" | "queues:control" | "workers:read" | "workers:control" | "workers:protocol" | "schedules:read" | "schedules:write" | "events:read" | "subscriptions:read" | "subscriptions:write" | "alerts:read" | "alerts:write" | "secrets:read" | "secrets:write" | "metrics:read" | "system:read" | "audit:read" | "keys:manage" | "tenants:read" | "tenants:manage" | "config:read" | "config:write" | "shards:read" | "shards:manage";

/** How far an act had come when its row was written. */
export type Phase = "asked" | "done" | "refused";

/** What happened in one bucket of time. Durations are seconds, as exact as their classes: within a factor of two. */
export type PointBody = {
  at: string;
  submitted: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  retried: number;
  wait_p50: number | null;
  wait_p95: number | null;
  run_p50: number | null;
  run_p95: number | null;
  /** How many tasks were due and waited to be run, on average; null if unknown. */
  depth: number | null;
};

/** When a rule fires next, in both zones. */
export type PreviewBody = {
  words: string;
  timezone: string;
  items: FireBody[];
};

/** A rule as a schedule would have it: how many of its fire times to show, and after which time. */
export type PreviewRequest = {
  /** Five fields, or six with seconds first, or a form such as @daily. */
  cron?: string | null | undefined;
  /** Fire every so often, at least a second, by real time. Seconds, or text such as "1h30m" or "PT1H30M". */
  interval?: number | string | null | undefined;
  /** Fire once, at this time. */
  run_at?: string | null | undefined;
  /** The IANA time zone by whose clock `cron` goes. */
  timezone?: string | undefined;
  /** Do not fire before this time; an interval is counted from it. */
  start?: string | null | undefined;
  /** Do not fire after this time. */
  end?: string | null | undefined;
  /** How many fire times to show. */
  count?: number | undefined;
  /** Those after this time; now when absent. */
  after?: string | null | undefined;
};

/** Why a request was refused. `code` is stable; `field` names the input at fault, where there is one. */
export type Problem = {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  field: string | null;
  request_id?: string | undefined;
};

/** The progress that the running attempt reported; without a `total` it is not known how much there is. */
export type ProgressBody = {
  done: number;
  total: number | null;
  message: string;
};

/** How far an attempt is. Without a `total` it is not known how much there is to do. */
export type ProgressReport = {
  lease: LeaseBody;
  done: number;
  total?: number | null | undefined;
  message?: string | undefined;
};

/** How far attempts are, each lease once. Of a lease that is not current nothing is kept. */
export type ProgressRequest = {
  notes: ProgressReport[];
};

/** A provider to sign in with. */
export type ProviderBody = {
  name: string;
  label: string;
  path: string;
};

/** How old failures must be to be discarded. */
export type PurgeRequest = {
  older_than: number | string;
  /** Why, for those who will wonder. */
  reason?: string | null | undefined;
  /** Change nothing; tell what would be done. */
  dry_run?: boolean | undefined;
};

/** The state of a queue. */
export type QueueBody = {
  name: string;
  tenant: string;
  pending: number;
  queued: number;
  processing: number;
  oldest_due_at: string | null;
  oldest_served_due_at: string | null;
  unserved: number;
  is_paused: boolean;
  reason: string | null;
};

/** A queue with its rates over the last 15 minutes. */
export type QueueDetails = {
  queue: QueueBody;
  submitted_per_second: number;
  ended_per_second: number;
  /** In how long the tasks that are due now will have run, if rates stay; null if they grow. */
  drain_seconds: number | null;
  limits: LimitBody[];
};

/** The queues that have tasks or are paused. */
export type QueueList = {
  items: QueueBody[];
  next_cursor?: string | null | undefined;
};

/** How much a tenant may have; null means as much as it likes. */
export type QuotasBody = {
  queued?: number | null | undefined;
  payload_bytes?: number | null | undefined;
  schedules?: number | null | undefined;
  weight?: number | null | undefined;
};

/** Why there was no further attempt. */
export type Reason = "retries_exhausted" | "permanent" | "poison" | "unresolved_input";

/** One reason. `cause` is stable; `until` is when it will be over by itself, where that is known. */
export type ReasonBody = {
  cause: Cause;
  text: string;
  until: string | null;
  count: number | null;
  names: string[];
};

/** Why it is done, for the audit log. */
export type ReasonRequest = {
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** The answers to records, in their order. */
export type RecordAnswers = {
  records: RecordedBody[];
};

/** What a task has done under a name. `value` is the result; with `failed` and `tried` it is the error. */
export type RecordBody = {
  name: string;
  key?: string | undefined;
  kind?: "step" | "sleep" | "signal" | "call" | "group" | "first" | undefined;
  status?: "tried" | "done" | "failed" | "timed_out" | undefined;
  value?: unknown | undefined;
  seq: number;
  tries?: number | undefined;
  due_at?: string | null | undefined;
};

/** Records of a task in the order of `seq`, and whether there are more. */
export type RecordPageBody = {
  records?: RecordBody[] | undefined;
  has_more?: boolean | undefined;
};

/** The lease of a task whose records are wanted, and the `seq` of the last one that is known. */
export type RecordPageRequest = {
  lease: LeaseBody;
  after?: number | undefined;
};

/** Records to keep. What is recorded under a name stays: sent again, the first one is the answer. */
export type RecordRequest = {
  records: NewRecordBody[];
};

/** What is recorded under the name; or why nothing is, mostly `fenced`: another attempt owns the task. */
export type RecordedBody = {
  record?: RecordBody | undefined;
  error?: Problem | undefined;
};

/** All schedules that the loaded modules of an app declare. */
export type RegisterRequest = {
  /** The app's name. */
  app: string;
  /** The modules that are loaded. Schedules of these that are not named are paused. */
  modules: string[];
  schedules?: AppSchedule[] | undefined;
};

/** What a registration did, by names. `refused` are names that schedules of others have. */
export type RegisteredBody = {
  created: string[];
  changed: string[];
  resumed: string[];
  paused: string[];
  refused: string[];
};

/** The worker gives the task back unfinished; the attempt does not count. */
export type ReleasedReport = {
  outcome: "released";
  lease: LeaseBody;
};

/** What to change of a waiting task; what is absent stays. */
export type RescheduleRequest = {
  /** Run it at this time; not together with delay. */
  run_at?: string | null | undefined;
  /** Run it so much later than now; not together with run_at. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  priority?: number | string | null | undefined;
};

/** The end of a round: the task is queued with another payload and without records. Not for tasks of jobs. */
export type RestartBody = {
  lease: LeaseBody;
  /** The payload of the next round: its arguments. */
  payload: unknown;
};

/** The task's state: `queued`, or `cancelled` if that was asked for. The attempt has ended, report nothing more. */
export type RestartedBody = {
  state: "blocked" | "queued" | "running" | "completed" | "failed" | "cancelled" | "skipped";
};

/** What the task shall be given from now on; absent, what it was given before. */
export type RetryRequest = {
  payload?: unknown | undefined;
};

/** The values of the secrets that the task refers to, by name; null if its payload has no reference at all. */
export type RevealBody = {
  secrets: Record<string, string> | null;
};

/** The lease of the task whose secrets are wanted. */
export type RevealRequest = {
  lease: LeaseBody;
};

/** Whom to sign out. */
export type RevokeRequest = {
  user: string;
};

/** What a key is for. */
export type Role = "admin" | "operator" | "submitter" | "worker" | "viewer";

/** How long the old key opens beside the new one, and why it is replaced. */
export type RotateKeyRequest = {
  /** How long the old key opens beside the new one, at most 30 days. */
  overlap?: number | string | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** How long the old secret signs beside the new one. */
export type RotateRequest = {
  /** How long the old secret signs beside the new one, at most 90 days. Seconds, or text such as "1h30m" or "PT1H30M". */
  overlap?: number | string | undefined;
};

/** What became of what was sealed with an old key. */
export type RotatedKeyBody = {
  key_id: string;
  secrets: number;
  signing_secrets: number;
  unreadable: string[];
};

/** A round of a task that is over: `ctx.restart` has begun the next one. */
export type RoundBody = {
  round: number;
  ended_at: string;
  records: number;
};

/** One firing. `status` is that of its task or job, WAITING or SKIPPED, or nothing if the task was pruned. */
export type RunBody = {
  fire_time: string;
  kind: RunKind;
  status: string | null;
  task_id: string | null;
  job_id: string | null;
  reason: string | null;
  created_at: string;
  start_at: string | null;
};

/** When a task runs, once the tasks that it needs have ended. */
export type RunIf = "all_succeeded" | "all_done" | "any_failed";

/** Why there is a run. */
export type RunKind = "scheduled" | "misfire" | "trigger" | "backfill";

/** A page of a schedule's runs, the latest fire time first. */
export type RunList = {
  items: RunBody[];
  next_cursor: string | null;
};

/** A task that some of the runs have. */
export type RunRowBody = {
  key: string;
  name: string;
};

/** How a task went in one run of a job. */
export type RunTaskBody = {
  task_id: string;
  status: Status;
  attempt: number;
  started_at: string | null;
  finished_at: string | null;
};

/** The state of a schedule. Times are UTC, durations seconds. */
export type ScheduleBody = {
  id: string;
  name: string;
  words: string;
  cron: string | null;
  interval: number | null;
  run_at: string | null;
  timezone: string;
  task: TaskRequest | null;
  job: JobRequest | null;
  misfire: Misfire;
  overlap: Overlap;
  start: string | null;
  end: string | null;
  jitter: number;
  max_runs: number | null;
  state: ScheduleState;
  reason: string | null;
  next_fire_at: string | null;
  next_fires?: FireBody[] | undefined;
  fires_by_day?: DayBody[] | undefined;
  created_at: string;
  changed_at: string;
  runs: number;
  skipped: number;
  missed: number;
  waiting: number;
  last_run: LastRunBody | null;
  app: string | null;
  module: string | null;
};

/** Changes to a schedule; absent fields stay. A rule or a target replaces the whole old one. */
export type ScheduleEdit = {
  /** What it is called; no two of a tenant have the same name. */
  name?: string | undefined;
  /** Five fields, or six with seconds first, or a form such as @daily. */
  cron?: string | undefined;
  /** Fire every so often, at least a second, by real time. Seconds, or text such as "1h30m" or "PT1H30M". */
  interval?: number | string | undefined;
  /** Fire once, at this time. */
  run_at?: string | undefined;
  /** The IANA time zone by whose clock `cron` goes. */
  timezone?: string | undefined;
  /** What each firing submits. */
  task?: TaskRequest | undefined;
  /** The job that each firing submits. */
  job?: JobRequest | undefined;
  /** What becomes of firings that were due while no scheduler was there. */
  misfire?: Misfire | undefined;
  /** What a firing does while the previous run has not ended. */
  overlap?: Overlap | undefined;
  /** Do not fire before this time; an interval is counted from it. */
  start?: string | null | undefined;
  /** Do not fire after this time. */
  end?: string | null | undefined;
  /** Spread firings over at most a day, each by its own share. Seconds, or text such as "1h30m" or "PT1H30M". */
  jitter?: number | string | undefined;
  /** Finish after so many runs. */
  max_runs?: number | null | undefined;
};

/** A page of schedules, newest first. */
export type ScheduleList = {
  items: ScheduleBody[];
  next_cursor: string | null;
};

/** Why a schedule is paused, for those who will wonder. */
export type SchedulePauseRequest = {
  reason?: string | null | undefined;
};

/** What a caller asks for: exactly one of `cron`, `interval` and `run_at`, and one of `task` and `job`. */
export type ScheduleRequest = {
  /** What it is called; no two of a tenant have the same name. */
  name: string;
  /** Five fields, or six with seconds first, or a form such as @daily. */
  cron?: string | null | undefined;
  /** Fire every so often, at least a second, by real time. Seconds, or text such as "1h30m" or "PT1H30M". */
  interval?: number | string | null | undefined;
  /** Fire once, at this time. */
  run_at?: string | null | undefined;
  /** The IANA time zone by whose clock `cron` goes. */
  timezone?: string | undefined;
  /** What each firing submits. */
  task?: TaskRequest | null | undefined;
  /** The job that each firing submits. */
  job?: JobRequest | null | undefined;
  /** What becomes of firings that were due while no scheduler was there. */
  misfire?: Misfire | undefined;
  /** What a firing does while the previous run has not ended. */
  overlap?: Overlap | undefined;
  /** Do not fire before this time; an interval is counted from it. */
  start?: string | null | undefined;
  /** Do not fire after this time. */
  end?: string | null | undefined;
  /** Spread firings over at most a day, each by its own share. Seconds, or text such as "1h30m" or "PT1H30M". */
  jitter?: number | string | undefined;
  /** Finish after so many runs. */
  max_runs?: number | null | undefined;
  /** Create it without letting it fire. */
  paused?: boolean | undefined;
};

/** The state of a schedule. */
export type ScheduleState = "active" | "paused" | "finished";

/** A task as the low-level design writes it. */
export type ScheduleTaskRequest = {
  task_name: string;
  execution_time: string;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | null | undefined;
  payload?: unknown | undefined;
};

/** The low-level design's answer to a submission or a cancellation. */
export type ScheduledBody = {
  task_id: string;
  status: string;
};

/** A secret, shown once. */
export type SecretBody = {
  secret: string;
};

/** A secret, without its value. */
export type SecretInfo = {
  name: string;
  tenant: string;
  version: number;
  key_id: string;
  created_at: string;
  updated_at: string;
};

/** A page of secrets, by tenant and name. */
export type SecretInfoList = {
  items: SecretInfo[];
  next_cursor: string | null;
};

/** What a secret is to be. */
export type SecretRequest = {
  /** What it is: 4 to 65,536 bytes of text. It is not told again. */
  value: string;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** The answers to reports, in their order. */
export type SettleBody = {
  reports: SettledBody[];
};

export type SettleRequest = {
  reports: (SucceededReport | FailedReport | SnoozedReport | ReleasedReport | StoppedReport)[];
  partial?: boolean | undefined;
};

/** The task's state after a report; or why it does not hold, mostly `fenced`: another attempt owns the task. */
export type SettledBody = {
  state?: "blocked" | "queued" | "running" | "completed" | "failed" | "cancelled" | "skipped" | undefined;
  error?: Problem | undefined;
};

/** How bad it is. */
export type Severity = "critical" | "warning" | "info";

/** A database of the installation. */
export type ShardBody = {
  name: string;
  state: ShardState;
  is_away: boolean;
  slots: number;
  unfinished: number;
  address: string;
  queue_address: string | null;
  added_at: string | null;
  queued: number | null;
  running: number | null;
  left: number | null;
};

/** Other addresses of the same database; what is left out stays, a `queue_url` of null takes that away. */
export type ShardChange = {
  /** Where its PostgreSQL is. It is stored encrypted, and only host, port and database are told again. */
  store_url?: string | undefined;
  /** Where its Redis is, if it has one of its own. It is stored and told like `store_url`. */
  queue_url?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** All shards, the directory first, then by name. */
export type ShardList = {
  items: ShardBody[];
  next_cursor?: string | null | undefined;
};

/** A database to be added to the installation. */
export type ShardRequest = {
  /** Lower-case letters, digits and -, and a letter first. */
  name: string;
  /** Where its PostgreSQL is. It is stored encrypted, and only host, port and database are told again. */
  store_url: string;
  /** Where its Redis is, if it has one of its own. It is stored and told like `store_url`. */
  queue_url?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** What a shard is there for. */
export type ShardState = "active" | "draining";

/** What one shard has of a limit. */
export type ShareBody = {
  shard: string;
  running: number | null;
  max_concurrent: number | null;
  rate: number | null;
};

/** How one can sign in, and who is signed in. */
export type SignInBody = {
  providers: ProviderBody[];
  signed_in: SignedInBody | null;
};

/** A key to sign in with. */
export type SignInRequest = {
  key: string;
  remember?: boolean | undefined;
};

/** How far to sign out. */
export type SignOutRequest = {
  everywhere?: boolean | undefined;
};

/** A signal that is kept durably. `created` is false if it was there already; `woken` tasks have become due. */
export type SignalBody = {
  id: string;
  created: boolean;
  woken: number;
};

/** A signal to a task. */
export type SignalRequest = {
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The sender's: the same signal sent twice is kept once. Without one each is another. */
  id?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** Who is signed in at this browser. */
export type SignedInBody = {
  user: string;
  name: string;
  role: Role;
  tenant: string;
  provider: string | null;
  token: string;
  ends_at: string;
};

/** What is left to do. */
export type SignedOutBody = {
  url: string | null;
};

/** An objective, and what it has spent of its budget. Durations are seconds. */
export type SloBody = {
  id: string;
  name: string;
  task: string;
  queue: string | null;
  objective: Objective;
  within: number | null;
  target: number;
  period: number;
  good: number;
  total: number;
  share: number | null;
  budget_left: number;
  burn_1h: number | null;
  burn_6h: number | null;
  counted_at: string | null;
  created_at: string;
  step: number | null;
  points: SloPointBody[] | null;
};

/** A page of objectives, newest first. */
export type SloList = {
  items: SloBody[];
  next_cursor: string | null;
};

/** Changes to an objective: absent fields stay. With another target, time or period it is counted anew. */
export type SloPatch = {
  name?: string | undefined;
  /** For `start`: the time in which tasks have to start, from when they are due. One of 0.001s, 0.002s, 0.005s, 0.01s, 0.02s, 0.05s, 0.1s, 0.2s, 0.5s, 1s, 2s, 5s, 10s, 30s, 1m, 5m, 30m. Seconds, or text such as "1h30m" or "PT1H30M". */
  within?: number | string | undefined;
  /** The share that has to go well. */
  target?: number | undefined;
  /** Over how long, from 1d to 30d. */
  period?: string | undefined;
};

/** How many tasks there were in a stretch of time, and how many of them went well. */
export type SloPointBody = {
  at: string;
  good: number;
  total: number;
};

/** An objective that is asked for. */
export type SloRequest = {
  /** What people call it; one of a name. */
  name: string;
  /** The tasks that it is about. */
  task: string;
  /** Only those in this queue. */
  queue?: string | null | undefined;
  objective?: Objective | undefined;
  /** For `start`: the time in which tasks have to start, from when they are due. One of 0.001s, 0.002s, 0.005s, 0.01s, 0.02s, 0.05s, 0.1s, 0.2s, 0.5s, 1s, 2s, 5s, 10s, 30s, 1m, 5m, 30m. Seconds, or text such as "1h30m" or "PT1H30M". */
  within?: number | string | null | undefined;
  /** The share that has to go well. */
  target: number;
  /** Over how long, from 1d to 30d. */
  period?: string | undefined;
  /** Whether to create two alerts with it: a fast burn (1h, 14.4 times) and a slow one (6h, 6 times). */
  alerts?: boolean | undefined;
};

/** The attempt wants to run again later; it does not count. */
export type SnoozedReport = {
  outcome: "snoozed";
  lease: LeaseBody;
  seconds: number;
};

/** Children to start. What is there under a place stays: sent again, it is the answer. */
export type StartRequest = {
  lease: LeaseBody;
  name: string;
  key?: string | undefined;
  first?: number | undefined;
  on_end?: "abandon" | "cancel" | undefined;
  tenant?: string | null | undefined;
  tasks: TaskRequest[];
};

/** The ids of the children, in the order of their places, and how many the call has by now. */
export type StartedBody = {
  ids: string[];
  count: number;
};

/** States of groups to list. */
export type StateFilter = "open" | "acknowledged" | "resolved" | "regressed" | "ignored" | "active";

/** Figures of every bucket of a stretch of time, `step` seconds wide; the last one is still being filled. */
export type StatsBody = {
  since: string;
  until: string;
  step: number;
  points: PointBody[];
};

/** The status that the API shows. Delayed and due tasks are one stored state with two names. */
export type Status = "PENDING" | "QUEUED" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED" | "SKIPPED";

/** The status of a task. It may be out of date for a moment. */
export type StatusBody = {
  id: string;
  status: Status;
};

export type StepBody = {
  name: string;
  key: string | null;
  kind: "step" | "sleep" | "signal" | "call" | "group" | "first";
  status: "tried" | "done" | "failed" | "timed_out";
  tries: number;
  started_at: string | null;
  finished_at: string;
  duration: number | null;
  due_at: string | null;
  result: unknown;
  error: ErrorBody | null;
};

export type StepList = {
  items: StepBody[];
  next_cursor: string | null;
  waits: TaskWaitBody[];
  round: number;
  rounds: RoundBody[];
  payload: unknown;
};

/** The worker saw the cancellation and stopped the attempt. */
export type StoppedReport = {
  outcome: "stopped";
  lease: LeaseBody;
};

export type StopsBody = {
  lost?: string[] | undefined;
  cancelled?: string[] | undefined;
};

/** The leases of attempts that run, and how many seconds to wait until one of them should stop. */
export type StopsRequest = {
  held?: LeaseBody[] | undefined;
  wait?: number | undefined;
};

/** One message of the stream. */
export type StreamMessage = {
  id?: string | null | undefined;
  event?: string | null | undefined;
  data?: string | null | undefined;
};

/** A doubt about a submission: `code` is stable, `field` names the input that it is about. */
export type SubmissionWarning = {
  code: string;
  message: string;
  field: string;
};

export type SubmittedBody = {
  id: string;
  status: Status;
  due_at: string | null;
  created: boolean;
  collapsed?: "replaced" | "postponed" | "dropped" | null | undefined;
  warnings?: SubmissionWarning[] | undefined;
};

export type SubmittedJobBody = {
  id: string | null;
  status: JobStatus | null;
  created: boolean;
  tasks: Record<string, string>;
  schedule?: ScheduleBody | undefined;
  warnings?: SubmissionWarning[] | undefined;
};

/** A subscription: which events, narrowed by what is not null, and where they are told. */
export type SubscriptionBody = {
  id: string;
  name: string;
  events: string[];
  task: string | null;
  queue: string | null;
  job: string | null;
  tag: string | null;
  webhook: string | null;
  email: string | null;
  enabled: boolean;
  disabled_reason: string | null;
  created_at: string;
  secret?: string | undefined;
};

/** The subscriptions, oldest first. */
export type SubscriptionList = {
  items: SubscriptionBody[];
};

/** Changes to a subscription: absent fields stay, and null removes a filter. */
export type SubscriptionPatch = {
  name?: string | undefined;
  /** Which events: the ends of tasks, and all that happens to jobs, schedules, workers, queues and alerts. */
  events?: string[] | undefined;
  /** Only of tasks with this name. */
  task?: string | null | undefined;
  /** Only of tasks in this queue. */
  queue?: string | null | undefined;
  /** Only of this job, by id or name, or of its tasks, by id. */
  job?: string | null | undefined;
  /** Only of tasks and jobs with this tag. */
  tag?: string | null | undefined;
  webhook?: string | undefined;
  email?: string | undefined;
  enabled?: boolean | undefined;
  /** Why it is disabled, for those who will wonder. */
  reason?: string | null | undefined;
};

export type SubscriptionRequest = {
  /** What people call it; one of a name. */
  name: string;
  /** Which events: the ends of tasks, and all that happens to jobs, schedules, workers, queues and alerts. */
  events?: string[] | undefined;
  /** Only of tasks with this name. */
  task?: string | null | undefined;
  /** Only of tasks in this queue. */
  queue?: string | null | undefined;
  /** Only of this job, by id or name, or of its tasks, by id. */
  job?: string | null | undefined;
  /** Only of tasks and jobs with this tag. */
  tag?: string | null | undefined;
  webhook?: string | null | undefined;
  email?: string | null | undefined;
  /** For webhooks: a secret of your own; leave it out to get one. */
  secret?: string | null | undefined;
};

/** The attempt did its work. */
export type SucceededReport = {
  outcome: "succeeded";
  lease: LeaseBody;
  result?: unknown | undefined;
};

/** A label, and the values that it has. */
export type TagBody = {
  tag: string;
  values: string[];
};

/** The state of a task. Times are UTC, durations seconds. `key` is its name in its job, if it belongs to one. */
export type TaskBody = {
  id: string;
  name: string;
  queue: string;
  status: Status;
  priority: number;
  payload?: unknown | undefined;
  created_at: string;
  due_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  attempt: number;
  retries: number;
  backoff: BackoffBody;
  timeout: number | null;
  tags: string[];
  notify: NotifyBody[];
  idempotency_key: string | null;
  limit_key: string | null;
  expires_at: string | null;
  collapse: Collapse | null;
  is_waiting: boolean;
  forked_from: string | null;
  worker: string | null;
  cancel_requested: boolean;
  progress?: ProgressBody | null | undefined;
  job_id: string | null;
  key: string | null;
  schedule_id: string | null;
  fire_time: string | null;
  parent_id: string | null;
  shard?: string | null | undefined;
  result?: unknown | undefined;
  error: ErrorBody | null;
};

/** A page of tasks, newest first. */
export type TaskList = {
  items: TaskBody[];
  next_cursor: string | null;
  is_partial?: boolean | undefined;
};

/** What a caller asks for, as written over HTTP, in Python or on the command line. */
export type TaskRequest = {
  /** What kind of task it is; workers say which they run. */
  name: string;
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The queue that workers take it from; unless said, as the task's code declares, or default. */
  queue?: string | null | undefined;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | null | undefined;
  /** Run it so much later than now; not together with run_at. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  /** Run it at this time; not together with delay. */
  run_at?: string | null | undefined;
  /** How often to try again after a failure; unless said, as the task's code declares, or as the installation is set to: 3. */
  retries?: number | null | undefined;
  /** How long to wait before each retry; a number is the base of the default 2, 4, 8 s. */
  backoff?: Backoff | number | null | undefined;
  /** Stop an attempt that takes longer; unless said, than the task's code declares. Seconds, or text such as "1h30m" or "PT1H30M". */
  timeout?: number | string | null | undefined;
  /** Words to find it by; unless said, those that the task's code declares. */
  tags?: string[] | null | undefined;
  /** Whom to tell when it ends. */
  notify?: NotifyTarget[] | null | undefined;
  /** Whose limit it counts to, where a limit has keys. */
  limit_key?: string | null | undefined;
  /** Cancel it if it has not started so long after it was due; at most 366 days. Seconds, or text such as "1h30m" or "PT1H30M". */
  expires?: number | string | null | undefined;
  /** Submitted twice under one key, a task is stored once; another body under it is refused. */
  idempotency_key?: string | null | undefined;
  /** The same as idempotency_key. */
  idempotencyKey?: string | null | undefined;
  /** Let an earlier task of its key stand for it: debounce, throttle, singleton or unique. */
  collapse?: Collapse | null | undefined;
};

/** The low-level design's answer to a look. */
export type TaskStatusBody = {
  task_id: string;
  status: string;
  execution_time: string;
};

/** A kind of task that a worker can run, as it publishes it. */
export type TaskType = {
  name: string;
  doc?: string | undefined;
  schema?: Record<string, unknown> | null | undefined;
  defaults?: TypeDefaults | null | undefined;
};

export type TaskWaitBody = {
  kind: "sleep" | "signal" | "call" | "group" | "first" | "retry" | "person" | "window";
  name: string;
  key: string | null;
  since: string;
  until: string | null;
  reason: string | null;
  schema: Record<string, unknown> | null;
  pending: number | null;
};

/** A tenant. */
export type TenantBody = {
  name: string;
  created_at: string | null;
  quotas: QuotasBody;
};

/** Other quotas; those that are left out stay, null takes one away. */
export type TenantChange = {
  queued?: number | null | undefined;
  payload_bytes?: number | null | undefined;
  schedules?: number | null | undefined;
  weight?: number | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** A page of tenants, by name. */
export type TenantList = {
  items: TenantBody[];
  next_cursor: string | null;
};

/** A new tenant. */
export type TenantRequest = {
  /** Lower-case letters, digits and _ . - */
  name: string;
  quotas?: QuotasBody | undefined;
};

/** What to change of a group; what is left out stays, null takes a note or an owner away. */
export type TriageRequest = {
  /** `resolved` becomes `regressed` by itself when it happens again. */
  state?: Decision | null | undefined;
  /** With `ignored`: until when, as a time or as a duration from now. */
  until?: string | number | null | undefined;
  note?: string | null | undefined;
  /** Who takes care of it. */
  owner?: string | null | undefined;
  /** Why, for the audit log; the header `X-Reason` does as well. */
  reason?: string | null | undefined;
};

/** The fire time that the run is for, so that the act can be repeated; now when absent. */
export type TriggerRequest = {
  /** The time that the run is for; now when absent. */
  fire_time?: string | null | undefined;
};

export type TypeBody = {
  name: string;
  doc: string;
  payload_schema: Record<string, unknown> | null;
  workers: number;
  queues: string[];
  defaults: TypeDefaults;
};

/** What submissions of a type get unless they say otherwise; None leaves it to the installation. */
export type TypeDefaults = {
  queue?: string | null | undefined;
  priority?: number | null | undefined;
  retries?: number | null | undefined;
  backoff?: Backoff | null | undefined;
  timeout?: number | null | undefined;
  tags?: string[] | null | undefined;
  expires?: number | null | undefined;
};

/** What live workers can run, by name. */
export type TypeList = {
  items: TypeBody[];
  next_cursor?: string | null | undefined;
};

/** What the worker uses now, for people. What it cannot measure is left out. */
export type UsageBody = {
  /** Bytes that its process and child processes have resident. */
  memory?: number | null | undefined;
  /** Processor time since the last heartbeat, as a share of one core: 1.5 is 1.5 cores. */
  cpu?: number | null | undefined;
};

/** How long tasks of one name wait and run, in seconds as exact as the classes of durations are. */
export type UsualDurations = {
  name: string;
  runs: number;
  wait_p50: number | null;
  wait_p95: number | null;
  run_p50: number | null;
  run_p95: number | null;
};

/** Whether every chain is sound. */
export type VerifyBody = {
  is_sound: boolean;
  chains: ChainBody[];
};

/** A saved view. */
export type ViewBody = {
  page: ViewPage;
  name: string;
  owner: string;
  is_own: boolean;
  is_shared: boolean;
  filter: string;
  columns: string[];
  created_at: string;
  updated_at: string;
};

/** One's own views, and those that others share, by page and name. */
export type ViewList = {
  items: ViewBody[];
  next_cursor?: string | null | undefined;
};

/** The lists that have views. */
export type ViewPage = "tasks" | "failures" | "jobs";

/** What a view shows. A shared one is seen by every key of the tenant; to share needs `tasks:control`. */
export type ViewRequest = {
  /** Terms as `filter` of the list takes them. */
  filter?: string | null | undefined;
  /** Columns to show, as the web interface names them; none for the usual ones. */
  columns?: string[] | undefined;
  /** Whether every key of the tenant sees it. */
  is_shared?: boolean | undefined;
};

export type WaitBody = {
  kind: "call" | "first" | "group" | "person" | "retry" | "signal" | "sleep" | "window";
  name: string;
  key?: string | undefined;
  delay?: number | null | undefined;
  /** Wait until this time; not together with delay. */
  until?: string | null | undefined;
  reason?: string | undefined;
  correlation?: string | null | undefined;
  /** With `signal`: the JSON Schema of the payload that is expected, at most 16 KiB. */
  schema?: Record<string, unknown> | undefined;
  pending?: number | undefined;
};

/** All that an attempt waits for. If nothing of it is there, the attempt ends; the task runs again when it is. */
export type WaitRequestBody = {
  lease: LeaseBody;
  waits: WaitBody[];
};

/** Either answers, and the attempt goes on; or the task's state: the attempt has ended, report nothing more. */
export type WaitedBody = {
  answers?: AnswerBody[] | undefined;
  state?: "blocked" | "queued" | "running" | "completed" | "failed" | "cancelled" | "skipped" | undefined;
};

/** Why a task is not running, the weightiest reason first. */
export type WhyBody = {
  id: string;
  reasons: ReasonBody[];
};

export type WorkerBody = {
  id: string;
  host: string;
  pid: number;
  version: string;
  /** The applications that it runs with their versions, such as `shop 1.4.2, billing 7`; empty if not known. */
  app_version: string;
  label: string;
  queues: string[];
  types: string[];
  capacity: number;
  held: number;
  /** Bytes that its process and child processes have resident, at the last heartbeat. */
  memory: number | null;
  /** Processor time between its last two heartbeats, as a share of one core: 1.5 is 1.5 cores. */
  cpu: number | null;
  opened_at: string;
  beat_at: string;
  should_drain: boolean;
  closed_at: string | null;
};

/** What the runtime configuration says about workers, by key, and its version. */
export type WorkerConfigBody = {
  version: number;
  settings: Record<string, unknown>;
};

/** The workers there are. */
export type WorkerList = {
  items: WorkerBody[];
  next_cursor?: string | null | undefined;
};

export interface Operations {
  "POST /api/v1/tasks": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: TaskRequest;
    answer: SubmittedBody;
  };
  "GET /api/v1/tasks": {
    params: Record<never, never>;
    query: { queue?: string | undefined; name?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; worker?: string | undefined; job?: string | undefined; finished_since?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined; status?: Status[] | undefined; limit?: number | undefined; cursor?: string | undefined; payload?: boolean | undefined; payload_up_to?: number | undefined; traceback?: boolean | undefined };
    body: undefined;
    answer: TaskList & Incomplete;
  };
  "POST /api/v1/tasks/batch": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: BatchRequest;
    answer: BatchBody;
  };
  "GET /api/v1/tasks/{id}": {
    params: { id: string };
    query: { wait?: number | undefined };
    body: undefined;
    answer: TaskBody;
  };
  "PATCH /api/v1/tasks/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: RescheduleRequest;
    answer: TaskBody;
  };
  "POST /api/v1/tasks/ended": {
    params: Record<never, never>;
    query: { wait?: number | undefined };
    body: EndedRequest;
    answer: EndedBody;
  };
  "POST /api/v1/tasks/{id}/cancel": {
    params: { id: string };
    query: { force?: boolean | undefined };
    body: CancelRequest | undefined;
    answer: TaskBody;
  };
  "POST /api/v1/tasks/{id}/retry": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: TaskBody;
  };
  "GET /api/v1/tasks/{id}/status": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: StatusBody;
  };
  "GET /api/v1/tasks/{id}/attempts": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: AttemptList;
  };
  "POST /api/v1/worker/sessions/{session}/claim": {
    params: { session: string };
    query: Record<never, never>;
    body: ClaimRequestBody | undefined;
    answer: ClaimBody;
  };
  "POST /api/v1/worker/sessions/{session}/settle": {
    params: { session: string };
    query: Record<never, never>;
    body: SettleRequest;
    answer: SettleBody;
  };
  "POST /api/v1/worker/sessions/{session}/beat": {
    params: { session: string };
    query: Record<never, never>;
    body: BeatRequest | undefined;
    answer: BeatBody;
  };
  "POST /api/v1/worker/sessions/{session}/stops": {
    params: { session: string };
    query: Record<never, never>;
    body: StopsRequest | undefined;
    answer: StopsBody;
  };
  "POST /api/v1/worker/sessions/{session}/log": {
    params: { session: string };
    query: Record<never, never>;
    body: LogRequest;
    answer: LogBody;
  };
  "POST /api/v1/worker/sessions/{session}/progress": {
    params: { session: string };
    query: Record<never, never>;
    body: ProgressRequest;
    answer: undefined;
  };
  "POST /api/v1/worker/sessions/{session}/secrets": {
    params: { session: string };
    query: Record<never, never>;
    body: RevealRequest;
    answer: RevealBody;
  };
  "POST /api/v1/worker/sessions": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: OpenRequest;
    answer: OpenBody;
  };
  "PATCH /api/v1/worker/sessions/{session}": {
    params: { session: string };
    query: Record<never, never>;
    body: ChangeSessionRequest;
    answer: undefined;
  };
  "DELETE /api/v1/worker/sessions/{session}": {
    params: { session: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/worker/config": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: WorkerConfigBody;
  };
  "POST /api/v1/worker/sessions/{session}/leave": {
    params: { session: string };
    query: Record<never, never>;
    body: undefined;
    answer: LeaveBody;
  };
  "PUT /api/v1/worker/sessions/{session}/artifacts/{task}/{name}": {
    params: { session: string; task: string; name: string };
    query: Record<never, never>;
    body: unknown;
    answer: undefined;
  };
  "POST /api/v1/worker/sessions/{session}/records": {
    params: { session: string };
    query: Record<never, never>;
    body: RecordRequest;
    answer: RecordAnswers;
  };
  "POST /api/v1/worker/sessions/{session}/waits": {
    params: { session: string };
    query: Record<never, never>;
    body: WaitRequestBody;
    answer: WaitedBody;
  };
  "POST /api/v1/worker/sessions/{session}/restarts": {
    params: { session: string };
    query: Record<never, never>;
    body: RestartBody;
    answer: RestartedBody;
  };
  "POST /api/v1/worker/sessions/{session}/records/list": {
    params: { session: string };
    query: Record<never, never>;
    body: RecordPageRequest;
    answer: RecordPageBody;
  };
  "POST /api/v1/worker/sessions/{session}/children": {
    params: { session: string };
    query: Record<never, never>;
    body: StartRequest;
    answer: StartedBody;
  };
  "POST /api/v1/worker/sessions/{session}/children/outcomes": {
    params: { session: string };
    query: Record<never, never>;
    body: OutcomesRequest;
    answer: OutcomePageBody;
  };
  "GET /api/v1/tasks/{id}/children": {
    params: { id: string };
    query: { limit?: number | undefined; cursor?: string | undefined; round?: number | undefined };
    body: undefined;
    answer: ChildList;
  };
  "GET /api/v1/tasks/{id}/steps": {
    params: { id: string };
    query: { limit?: number | undefined; cursor?: string | undefined; round?: number | undefined };
    body: undefined;
    answer: StepList;
  };
  "POST /api/v1/tasks/{id}/signals/{name}": {
    params: { id: string; name: string };
    query: Record<never, never>;
    body: SignalRequest | undefined;
    answer: SignalBody;
  };
  "POST /api/v1/signals/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: KeyedSignalRequest;
    answer: SignalBody;
  };
  "POST /api/v1/tasks/{id}/fork": {
    params: { id: string };
    query: Record<never, never>;
    body: ForkRequest;
    answer: ForkBody;
  };
  "GET /api/v1/tasks/{id}/log": {
    params: { id: string };
    query: { attempt?: number | undefined; follow?: boolean | undefined };
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/tasks/{id}/artifacts": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: ArtifactList;
  };
  "GET /api/v1/tasks/{id}/artifacts/{name}": {
    params: { id: string; name: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/logs": {
    params: Record<never, never>;
    query: { queue?: string | undefined; name?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; worker?: string | undefined; job?: string | undefined; finished_since?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined; text?: string | undefined; level?: LogLevel | undefined; status?: Status[] | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: LogLineList & Incomplete;
  };
  "POST /api/v1/jobs": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: JobRequest;
    answer: SubmittedJobBody;
  };
  "GET /api/v1/jobs": {
    params: Record<never, never>;
    query: { status?: JobStatus[] | undefined; name?: string | undefined; owner?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: JobList & Incomplete;
  };
  "GET /api/v1/jobs/{id}": {
    params: { id: string };
    query: { wait?: number | undefined };
    body: undefined;
    answer: JobBody;
  };
  "GET /api/v1/jobs/{id}/graph": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: GraphBody;
  };
  "GET /api/v1/jobs/{id}/attempts": {
    params: { id: string };
    query: { limit?: number | undefined };
    body: undefined;
    answer: JobAttemptList;
  };
  "POST /api/v1/jobs/{id}/cancel": {
    params: { id: string };
    query: { force?: boolean | undefined };
    body: CancelJobRequest | undefined;
    answer: JobBody;
  };
  "POST /api/v1/jobs/{id}/resume": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: JobBody;
  };
  "GET /api/v1/jobs/{id}/why": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: JobWhyBody & Incomplete;
  };
  "GET /api/v1/jobs/runs": {
    params: Record<never, never>;
    query: { name?: string | undefined; schedule_id?: string | undefined; limit?: number | undefined };
    body: undefined;
    answer: JobRunsBody & Incomplete;
  };
  "POST /api/v1/schedules": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ScheduleRequest;
    answer: ScheduleBody;
  };
  "GET /api/v1/schedules": {
    params: Record<never, never>;
    query: { name?: string | undefined; state?: ScheduleState | undefined; app?: string | undefined; next?: number | undefined; days?: number | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: ScheduleList & Incomplete;
  };
  "POST /api/v1/schedules/preview": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: PreviewRequest;
    answer: PreviewBody;
  };
  "POST /api/v1/schedules/register": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: RegisterRequest;
    answer: RegisteredBody;
  };
  "GET /api/v1/schedules/{id}": {
    params: { id: string };
    query: { next?: number | undefined; days?: number | undefined };
    body: undefined;
    answer: ScheduleBody;
  };
  "PATCH /api/v1/schedules/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: ScheduleEdit;
    answer: ScheduleBody;
  };
  "DELETE /api/v1/schedules/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/schedules/{id}/pause": {
    params: { id: string };
    query: Record<never, never>;
    body: SchedulePauseRequest | undefined;
    answer: ScheduleBody;
  };
  "POST /api/v1/schedules/{id}/resume": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: ScheduleBody;
  };
  "POST /api/v1/schedules/{id}/trigger": {
    params: { id: string };
    query: Record<never, never>;
    body: TriggerRequest | undefined;
    answer: RunBody;
  };
  "POST /api/v1/schedules/{id}/backfill": {
    params: { id: string };
    query: Record<never, never>;
    body: BackfillRequest;
    answer: BackfillBody;
  };
  "DELETE /api/v1/schedules/{id}/backfill": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: DroppedBody;
  };
  "GET /api/v1/schedules/{id}/runs": {
    params: { id: string };
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: RunList;
  };
  "POST /tasks": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: FlowRequest;
    answer: SubmittedBody;
  };
  "POST /scheduleTask": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ScheduleTaskRequest;
    answer: ScheduledBody;
  };
  "GET /taskStatus/{task_id}": {
    params: { task_id: string };
    query: Record<never, never>;
    body: undefined;
    answer: TaskStatusBody;
  };
  "DELETE /cancelTask/{task_id}": {
    params: { task_id: string };
    query: Record<never, never>;
    body: undefined;
    answer: ScheduledBody;
  };
  "GET /api/v1/failures/groups": {
    params: Record<never, never>;
    query: { queue?: string | undefined; name?: string | undefined; kind?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined; state?: StateFilter | undefined; trend?: boolean | undefined; sort?: GroupOrder | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: GroupList & Incomplete;
  };
  "GET /api/v1/failures/groups/{fingerprint}": {
    params: { fingerprint: string };
    query: Record<never, never>;
    body: undefined;
    answer: GroupBody & Incomplete;
  };
  "PATCH /api/v1/failures/groups/{fingerprint}": {
    params: { fingerprint: string };
    query: Record<never, never>;
    body: TriageRequest;
    answer: GroupBody;
  };
  "GET /api/v1/failures": {
    params: Record<never, never>;
    query: { id?: string | undefined; queue?: string | undefined; name?: string | undefined; fingerprint?: string | undefined; kind?: string | undefined; reason?: Reason | undefined; since?: string | undefined; until?: string | undefined; tag?: string | undefined; job?: string | undefined; filter?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: FailureList & Incomplete;
  };
  "POST /api/v1/failures/retry": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ManyRequest;
    answer: BulkBody;
  };
  "POST /api/v1/failures/discard": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ManyRequest;
    answer: BulkBody;
  };
  "POST /api/v1/failures/purge": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: PurgeRequest;
    answer: BulkBody;
  };
  "GET /api/v1/failures/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: FailureFile;
  };
  "POST /api/v1/failures/{id}/retry": {
    params: { id: string };
    query: Record<never, never>;
    body: RetryRequest | undefined;
    answer: TaskBody;
  };
  "POST /api/v1/failures/{id}/discard": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: TaskBody;
  };
  "POST /api/v1/bulk": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: BulkRequest;
    answer: BulkBody;
  };
  "GET /api/v1/bulk": {
    params: Record<never, never>;
    query: { state?: BulkState[] | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: BulkList & Incomplete;
  };
  "GET /api/v1/bulk/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: BulkBody & Incomplete;
  };
  "GET /api/v1/bulk/{id}/items": {
    params: { id: string };
    query: { outcome?: ItemOutcome[] | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: ItemList;
  };
  "POST /api/v1/bulk/{id}/abort": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: BulkBody;
  };
  "GET /api/v1/queues": {
    params: Record<never, never>;
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: QueueList & Incomplete;
  };
  "POST /api/v1/queues/{name}/pause": {
    params: { name: string };
    query: Record<never, never>;
    body: PauseRequest | undefined;
    answer: QueueBody & Incomplete;
  };
  "POST /api/v1/queues/{name}/resume": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: QueueBody & Incomplete;
  };
  "GET /api/v1/queues/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: QueueDetails & Incomplete;
  };
  "GET /api/v1/limits": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: LimitList & Incomplete;
  };
  "GET /api/v1/limits/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: LimitBody & Incomplete;
  };
  "PUT /api/v1/limits/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: LimitRequest;
    answer: LimitBody & Incomplete;
  };
  "DELETE /api/v1/limits/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/workers": {
    params: Record<never, never>;
    query: { closed?: boolean | undefined };
    body: undefined;
    answer: WorkerList & Incomplete;
  };
  "GET /api/v1/workers/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: WorkerBody & Incomplete;
  };
  "POST /api/v1/workers/{id}/drain": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: WorkerBody & Incomplete;
  };
  "DELETE /api/v1/workers/{id}/drain": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: WorkerBody & Incomplete;
  };
  "GET /api/v1/types": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: TypeList & Incomplete;
  };
  "GET /api/v1/tasks/{id}/why": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: WhyBody & Incomplete;
  };
  "GET /api/v1/tasks/counts": {
    params: Record<never, never>;
    query: { queue?: string | undefined; name?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; worker?: string | undefined; job?: string | undefined; finished_since?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined };
    body: undefined;
    answer: CountList & Incomplete;
  };
  "GET /api/v1/events": {
    params: Record<never, never>;
    query: { type?: string[] | undefined; name?: string[] | undefined; queue?: string[] | undefined; job?: string[] | undefined; tag?: string[] | undefined; status?: Status[] | undefined; subject?: string[] | undefined; last_event_id?: string | undefined };
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/events/consumers": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: ConsumerList & Incomplete;
  };
  "DELETE /api/v1/events/consumers/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/subscriptions": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: SubscriptionRequest;
    answer: SubscriptionBody;
  };
  "GET /api/v1/subscriptions": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: SubscriptionList;
  };
  "GET /api/v1/subscriptions/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: SubscriptionBody;
  };
  "PATCH /api/v1/subscriptions/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: SubscriptionPatch;
    answer: SubscriptionBody;
  };
  "DELETE /api/v1/subscriptions/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/subscriptions/{id}/rotate": {
    params: { id: string };
    query: Record<never, never>;
    body: RotateRequest | undefined;
    answer: SecretBody;
  };
  "POST /api/v1/subscriptions/{id}/test": {
    params: { id: string };
    query: { wait?: number | undefined };
    body: undefined;
    answer: DeliveryBody;
  };
  "POST /api/v1/notify/rotate": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: RotateRequest | undefined;
    answer: SecretBody;
  };
  "GET /api/v1/deliveries": {
    params: Record<never, never>;
    query: { subscription?: string | undefined; state?: DeliveryWord | undefined; subject?: string | undefined; event_type?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: DeliveryList & Incomplete;
  };
  "GET /api/v1/deliveries/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: DeliveryBody;
  };
  "POST /api/v1/deliveries/{id}/resend": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: DeliveryBody;
  };
  "POST /api/v1/alerts": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: AlertRequest;
    answer: AlertBody;
  };
  "GET /api/v1/alerts": {
    params: Record<never, never>;
    query: { name?: string | undefined; state?: "firing" | "ok" | "pending" | "resolved" | undefined; slo?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: AlertList;
  };
  "GET /api/v1/alert-incidents": {
    params: Record<never, never>;
    query: { alert?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: IncidentList;
  };
  "GET /api/v1/alerts/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: AlertBody;
  };
  "PATCH /api/v1/alerts/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: AlertPatch;
    answer: AlertBody;
  };
  "DELETE /api/v1/alerts/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/slos": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: SloRequest;
    answer: SloBody;
  };
  "GET /api/v1/slos": {
    params: Record<never, never>;
    query: { name?: string | undefined; task?: string | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: SloList;
  };
  "GET /api/v1/slos/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: SloBody;
  };
  "PATCH /api/v1/slos/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: SloPatch;
    answer: SloBody;
  };
  "DELETE /api/v1/slos/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/stats": {
    params: Record<never, never>;
    query: { last?: "15m" | "1h" | "24h" | "6h" | "7d" | undefined; queue?: string | undefined; name?: string | undefined };
    body: undefined;
    answer: StatsBody & Incomplete;
  };
  "GET /api/v1/stats/durations": {
    params: Record<never, never>;
    query: { name?: string[] | undefined; last?: "15m" | "1h" | "24h" | "6h" | "7d" | undefined };
    body: undefined;
    answer: DurationsList & Incomplete;
  };
  "GET /api/v1/me": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: MeBody;
  };
  "POST /api/v1/keys": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: KeyRequest;
    answer: MadeKeyBody;
  };
  "GET /api/v1/keys": {
    params: Record<never, never>;
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: KeyList;
  };
  "GET /api/v1/keys/{id}": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: KeyBody;
  };
  "POST /api/v1/keys/{id}/disable": {
    params: { id: string };
    query: Record<never, never>;
    body: ReasonRequest | undefined;
    answer: KeyBody;
  };
  "POST /api/v1/keys/{id}/enable": {
    params: { id: string };
    query: Record<never, never>;
    body: ReasonRequest | undefined;
    answer: KeyBody;
  };
  "POST /api/v1/keys/{id}/revoke": {
    params: { id: string };
    query: Record<never, never>;
    body: ReasonRequest | undefined;
    answer: KeyBody;
  };
  "POST /api/v1/keys/{id}/rotate": {
    params: { id: string };
    query: Record<never, never>;
    body: RotateKeyRequest | undefined;
    answer: MadeKeyBody;
  };
  "GET /api/v1/sign-in": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: SignInBody;
  };
  "POST /api/v1/sign-in": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: SignInRequest;
    answer: SignedInBody;
  };
  "POST /api/v1/sign-out": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: SignOutRequest | undefined;
    answer: SignedOutBody;
  };
  "POST /api/v1/sign-ins/revoke": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: RevokeRequest;
    answer: undefined;
  };
  "POST /api/v1/tenants": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: TenantRequest;
    answer: TenantBody;
  };
  "GET /api/v1/tenants": {
    params: Record<never, never>;
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: TenantList;
  };
  "GET /api/v1/tenants/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: TenantBody;
  };
  "PATCH /api/v1/tenants/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: TenantChange;
    answer: TenantBody;
  };
  "GET /api/v1/secrets": {
    params: Record<never, never>;
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: SecretInfoList;
  };
  "PUT /api/v1/secrets/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: SecretRequest;
    answer: SecretInfo;
  };
  "DELETE /api/v1/secrets/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/secret-key/rotate": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: RotatedKeyBody;
  };
  "GET /api/v1/views": {
    params: Record<never, never>;
    query: { page?: ViewPage | undefined };
    body: undefined;
    answer: ViewList;
  };
  "PUT /api/v1/views/{page}/{name}": {
    params: { page: "tasks" | "failures" | "jobs"; name: string };
    query: Record<never, never>;
    body: ViewRequest;
    answer: ViewBody;
  };
  "DELETE /api/v1/views/{page}/{name}": {
    params: { page: "tasks" | "failures" | "jobs"; name: string };
    query: { owner?: string | undefined };
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/tasks/export": {
    params: Record<never, never>;
    query: { queue?: string | undefined; name?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; worker?: string | undefined; job?: string | undefined; finished_since?: string | undefined; since?: string | undefined; until?: string | undefined; filter?: string | undefined; status?: Status[] | undefined; format?: ExportFormat | undefined; limit?: number | undefined; payload?: boolean | undefined };
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/audit": {
    params: Record<never, never>;
    query: { act?: string | undefined; key?: string | undefined; target?: string | undefined; since?: string | undefined; until?: string | undefined; all?: boolean | undefined; limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: AuditList;
  };
  "GET /api/v1/audit/export": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /api/v1/audit/verify": {
    params: Record<never, never>;
    query: { expect?: string | undefined };
    body: undefined;
    answer: VerifyBody;
  };
  "GET /api/v1/config": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: ConfigBody;
  };
  "PATCH /api/v1/config": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ConfigChange;
    answer: ConfigBody;
  };
  "GET /api/v1/config/history": {
    params: Record<never, never>;
    query: { limit?: number | undefined; cursor?: string | undefined };
    body: undefined;
    answer: ConfigHistory;
  };
  "GET /api/v1/shards": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: ShardList;
  };
  "POST /api/v1/shards": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ShardRequest;
    answer: ShardBody;
  };
  "GET /api/v1/shards/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: ShardBody;
  };
  "PATCH /api/v1/shards/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: ShardChange;
    answer: ShardBody;
  };
  "DELETE /api/v1/shards/{name}": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "POST /api/v1/shards/{name}/drain": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: ShardBody;
  };
  "DELETE /api/v1/shards/{name}/drain": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: ShardBody;
  };
  "POST /api/v1/slots/move": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: MoveRequest;
    answer: MovedBody;
  };
  "GET /actuator/health": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: Health;
  };
  "GET /livez": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: Alive;
  };
  "GET /readyz": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: Alive;
  };
  "GET /metrics": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "GET /actuator/metrics": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: NamesBody;
  };
  "GET /actuator/metrics/{name}": {
    params: { name: string };
    query: { tag?: string | undefined };
    body: undefined;
    answer: MetricBody;
  };
  "GET /actuator/info": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: InfoBody;
  };
  "GET /openapi.json": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: Record<string, unknown>;
  };
  "GET /docs": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
}
