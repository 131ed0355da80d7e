// Made by `make docs` from the table of operations in src/drumline/api: change it there.

/** The state of this process. */
export type Alive = {
  status: "DOWN" | "UP";
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
  outcome: "running" | "completed" | "failed" | "cancelled" | "skipped" | "retried" | "snoozed" | "released" | "crashed";
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

/** The answer to one task of a batch: its id, or the problem with it. */
export type BatchItem = {
  id?: string | undefined;
  created?: boolean | undefined;
  error?: Problem | undefined;
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
};

/** Every lease that the worker believes it holds: from the claim's answer until its settlement is answered. */
export type BeatRequest = {
  held?: LeaseBody[] | undefined;
};

/** Whether to end a running task now, without waiting for its worker to stop it. */
export type CancelRequest = {
  force?: boolean | undefined;
};

/** A piece of an attempt's log: the lease's task and epoch, and `seq` counting from 0. */
export type ChunkBody = {
  task: string;
  epoch: number;
  seq: number;
  text: string;
};

/** The tasks that the worker now holds, best first. */
export type ClaimBody = {
  tasks: ClaimedBody[];
};

export type ClaimRequestBody = unknown;

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
};

/** One part of the system. Details are for those with a key. */
export type Component = {
  status: "DOWN" | "UP";
  details?: Record<string, unknown> | undefined;
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

/** The attempt failed; `retry_after` seconds override the task's own backoff. */
export type FailedReport = {
  outcome: "failed";
  lease: LeaseBody;
  error: ErrorInfo;
  permanent?: boolean | undefined;
  retry_after?: number | null | undefined;
};

/** A task as the flow document writes it: with `type` for its name. All other fields are taken too. */
export type FlowRequest = unknown;

/** The state of the whole: DOWN if tasks cannot be stored, DEGRADED if they only run slower. */
export type Health = {
  status: "DEGRADED" | "DOWN" | "UP";
  components: Record<string, Component>;
};

/** The right to one attempt of a task. Send it back as it came. */
export type LeaseBody = {
  task: string;
  epoch: number;
  nonce: string;
};

/** Pieces of logs. A piece sent twice is kept once. */
export type LogRequest = {
  chunks: ChunkBody[];
};

/** Whom to tell when the task ends, and on which outcomes. */
export type NotifyBody = {
  on: string[];
  webhook: string | null;
  email: string | null;
};

/** Whom to tell when the task ends, and on which outcomes. */
export type NotifyTarget = unknown;

/** The session to use in all that follows; beat every `beat_every` seconds, `ttl` without a beat is death. */
export type OpenBody = {
  session: string;
  beat_every: number;
  ttl: number;
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
};

/** Why a queue is paused, for those who will wonder. */
export type PauseRequest = {
  reason?: string | null | undefined;
};

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
};

/** Why a request was refused. `code` is stable; `field` names the input at fault, where there is one. */
export type Problem = {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  field?: string | null | undefined;
  request_id?: string | undefined;
};

/** A queue as it stands. */
export type QueueBody = {
  name: string;
  tenant: string;
  pending: number;
  queued: number;
  processing: number;
  oldest_due_at: string | null;
  is_paused: boolean;
  reason: string | null;
};

/** The queues that have tasks or are paused. */
export type QueueList = {
  items: QueueBody[];
  next_cursor?: string | null | undefined;
};

/** The worker gives the task back unfinished; the attempt does not count. */
export type ReleasedReport = {
  outcome: "released";
  lease: LeaseBody;
};

/** What to change of a waiting task; what is absent stays. */
export type RescheduleRequest = unknown;

/** A task as the low-level design writes it. */
export type ScheduleRequest = {
  task_name: string;
  execution_time: string;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | undefined;
  payload?: unknown | undefined;
};

/** The low-level design's answer to a submission or a cancellation. */
export type ScheduledBody = {
  task_id: string;
  status: string;
};

/** The answers to reports, in their order. */
export type SettleBody = {
  reports: SettledBody[];
};

/** How attempts ended. A report may be sent again until it is answered. */
export type SettleRequest = {
  reports: (SucceededReport | FailedReport | SnoozedReport | ReleasedReport | StoppedReport)[];
};

/** The task's state after a report; or why it does not hold, mostly `fenced`: another attempt owns the task. */
export type SettledBody = {
  state?: "blocked" | "queued" | "running" | "completed" | "failed" | "cancelled" | "skipped" | undefined;
  error?: Problem | undefined;
};

/** The attempt wants to run again later; it does not count. */
export type SnoozedReport = {
  outcome: "snoozed";
  lease: LeaseBody;
  seconds: number;
};

/** Figures of every bucket of a stretch of time, `step` seconds wide; the last one is still being filled. */
export type StatsBody = {
  since: string;
  until: string;
  step: number;
  points: PointBody[];
};

/** What people are shown. Delayed and due tasks are one stored state with two names. */
export type Status = "PENDING" | "QUEUED" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED" | "SKIPPED";

/** Where a task stands. It may be out of date for a moment. */
export type StatusBody = {
  id: string;
  status: Status;
};

/** The worker saw the cancellation and stopped the attempt. */
export type StoppedReport = {
  outcome: "stopped";
  lease: LeaseBody;
};

/** A task that is stored durably. `created` is false if its idempotency key brought back an earlier one. */
export type SubmittedBody = {
  id: string;
  status: Status;
  due_at: string | null;
  created: boolean;
};

/** The attempt did its work. */
export type SucceededReport = {
  outcome: "succeeded";
  lease: LeaseBody;
  result?: unknown | undefined;
};

/** A task as it stands. Times are UTC, durations seconds. `key` is its name in its job, if it belongs to one. */
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
  worker: string | null;
  cancel_requested: boolean;
  job_id: string | null;
  key: string | null;
  result?: unknown | undefined;
  error: ErrorBody | null;
};

/** A page of tasks, newest first. */
export type TaskList = {
  items: TaskBody[];
  next_cursor: string | null;
};

/** What a caller asks for, as written over HTTP, in Python or on the command line. */
export type TaskRequest = {
  /** What kind of task it is; workers say which they run. */
  name: string;
  /** Any JSON, at most 1,048,576 bytes. */
  payload?: unknown | undefined;
  /** The queue that workers take it from. */
  queue?: string | undefined;
  /** From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting. */
  priority?: number | string | undefined;
  /** Run it so much later than now; not together with run_at. Seconds, or text such as "1h30m" or "PT1H30M". */
  delay?: number | string | null | undefined;
  /** Run it at this time; not together with delay. */
  run_at?: string | null | undefined;
  /** How often to try again after a failure. */
  retries?: number | undefined;
  /** How long to wait before each retry; a number is the base of the default 2, 4, 8 s. */
  backoff?: Backoff | number | null | undefined;
  /** Stop an attempt that takes longer. Seconds, or text such as "1h30m" or "PT1H30M". */
  timeout?: number | string | null | undefined;
  /** Submitted twice under one key, a task is stored once; another body under it is refused. */
  idempotency_key?: string | null | undefined;
  /** The same as idempotency_key. */
  idempotencyKey?: string | null | undefined;
  /** Words to find it by. */
  tags?: string[] | undefined;
  /** Whom to tell when it ends. */
  notify?: NotifyTarget[] | undefined;
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
};

/** A worker as it stands. `types` are the names of the tasks that it can run. */
export type WorkerBody = {
  id: string;
  host: string;
  pid: number;
  version: string;
  label: string;
  queues: string[];
  types: string[];
  capacity: number;
  held: number;
  opened_at: string;
  beat_at: string;
  should_drain: boolean;
  closed_at: string | null;
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
    query: { status?: Status[] | undefined; queue?: string | undefined; name?: string | undefined; tag?: string | undefined; idempotency_key?: string | undefined; worker?: string | undefined; limit?: number | undefined; cursor?: string | undefined; payload?: boolean | undefined };
    body: undefined;
    answer: TaskList;
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
  "POST /api/v1/worker/sessions/{session}/log": {
    params: { session: string };
    query: Record<never, never>;
    body: LogRequest;
    answer: undefined;
  };
  "POST /api/v1/worker/sessions": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: OpenRequest;
    answer: OpenBody;
  };
  "DELETE /api/v1/worker/sessions/{session}": {
    params: { session: string };
    query: Record<never, never>;
    body: undefined;
    answer: undefined;
  };
  "PUT /api/v1/worker/sessions/{session}/artifacts/{task}/{name}": {
    params: { session: string; task: string; name: string };
    query: Record<never, never>;
    body: unknown;
    answer: undefined;
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
  "POST /tasks": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: FlowRequest;
    answer: SubmittedBody;
  };
  "POST /scheduleTask": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: ScheduleRequest;
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
  "GET /api/v1/queues": {
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: QueueList;
  };
  "POST /api/v1/queues/{name}/pause": {
    params: { name: string };
    query: Record<never, never>;
    body: PauseRequest | undefined;
    answer: QueueBody;
  };
  "POST /api/v1/queues/{name}/resume": {
    params: { name: string };
    query: Record<never, never>;
    body: undefined;
    answer: QueueBody;
  };
  "GET /api/v1/workers": {
    params: Record<never, never>;
    query: { closed?: boolean | undefined };
    body: undefined;
    answer: WorkerList;
  };
  "POST /api/v1/workers/{id}/drain": {
    params: { id: string };
    query: Record<never, never>;
    body: undefined;
    answer: WorkerBody;
  };
  "GET /api/v1/stats": {
    params: Record<never, never>;
    query: { last?: string | undefined; queue?: string | undefined; name?: string | undefined };
    body: undefined;
    answer: StatsBody;
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
