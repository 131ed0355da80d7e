import { encode } from "@/api/numbers";

/** One way to write a request. */
export interface Snippet {
  id: "curl" | "cli" | "python";
  label: string;
  text: string;
}

/** A word of a shell, quoted if it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A JSON string is a literal of Python, too. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

/** A request by curl; the key is read from the environment, so that it is in no history. */
export function curl(url: string, method: string, path: string, body?: unknown): string {
  const parts = ["curl", "-X", method, shellWord(url + path), "-H", '"X-API-Key: $DRUMLINE_API_KEY"'];
  if (body !== undefined) parts.push("-H", "'Content-Type: application/json'", "-d", shellWord(encode(body)));
  return parts.join(" ");
}

export const START_WORKER = "drumline worker your_module.py";
export const START_DEMO = "drumline demo";

/** A first task for a server: the command line of those who have not installed anything. */
export function firstTask(url: string): string {
  return `curl ${url}/api/v1/tasks -H "X-API-Key: $DRUMLINE_API_KEY" \\
     -d '{"name": "shell", "payload": {"command": ["echo", "hello"]}}'`;
}

/** The same thing written for the command line, for curl and in Python; what the command line cannot say is left out. */
function ways(cli: string | null, request: string, python: string): Snippet[] {
  return [
    ...(cli === null ? [] : [{ id: "cli", label: "Command line", text: cli } as const]),
    { id: "curl", label: "curl", text: request },
    { id: "python", label: "Python", text: python },
  ];
}

/** A request by Python alone, for what the SDK has no function for. */
function pythonRequest(url: string, method: string, path: string, body?: unknown): string {
  const headers = ['"X-API-Key": os.environ["DRUMLINE_API_KEY"]'];
  if (body !== undefined) headers.push('"Content-Type": "application/json"');
  return [
    "import json",
    "import os",
    "from urllib.request import Request, urlopen",
    "",
    "request = Request(",
    `    ${pythonText(url + path)},`,
    ...(body === undefined ? [] : [`    ${pythonText(encode(body))}.encode(),`]),
    `    {${headers.join(", ")}},`,
    `    method=${pythonText(method)},`,
    ")",
    "with urlopen(request) as response:",
    "    print(json.load(response))",
  ].join("\n");
}

/** One request in each of the ways. */
export function requestWays(
  cli: string[] | null,
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Snippet[] {
  const request = [url, method, path, body] as const;
  return ways(cli?.map(shellWord).join(" ") ?? null, curl(...request), pythonRequest(...request));
}

/** Options of a command, without those that have no value. */
export function flags(of: Record<string, string | number | null | undefined>): string[] {
  return Object.entries(of).flatMap(([flag, value]) =>
    value === null || value === undefined ? [] : [flag, String(value)],
  );
}

/** What of a task makes another one like it. */
export interface TaskLike {
  name: string;
  queue: string;
  payload?: unknown;
  priority: number;
  retries: number;
  timeout: number | null;
  tags: string[];
  limit_key: string | null;
  backoff: BackoffLike;
  notify: readonly NotifyLike[];
}

interface BackoffLike {
  base: number;
  factor: number;
  cap: number;
  jitter: number;
}

interface NotifyLike {
  on: readonly string[];
  webhook: string | null;
  email: string | null;
}

/** Whom to notify, as a request names them. */
export function notifyLike(notify: readonly NotifyLike[]): Record<string, unknown>[] {
  return notify.map(({ on, webhook, email }) => ({ on, ...(webhook === null ? { email } : { webhook }) }));
}

/** What of a task the command line has options for: the first wait of a usual backoff, and the usual outcomes. */
function canSay({ backoff: { factor, cap, jitter }, notify }: TaskLike): boolean {
  const isUsual = factor === 2 && cap === 3600 && jitter === 0;
  return isUsual && notify.every(({ on }) => [...on].sort().join() === "completed,failed");
}

export function requestLike(task: TaskLike): Record<string, unknown> {
  return {
    name: task.name,
    payload: task.payload ?? null,
    queue: task.queue,
    ...(task.priority ? { priority: task.priority } : {}),
    retries: task.retries,
    backoff: task.backoff,
    ...(task.timeout === null ? {} : { timeout: task.timeout }),
    ...(task.tags.length ? { tags: task.tags } : {}),
    ...(task.limit_key === null ? {} : { limit_key: task.limit_key }),
    ...(task.notify.length ? { notify: notifyLike(task.notify) } : {}),
  };
}

/** Ways to submit a task like this one, without the idempotency key and the collapse rule: both would refer to the task there is. */
export function taskSnippets(url: string, task: TaskLike): Snippet[] {
  const payload = encode(task.payload ?? null);
  const cli = ["drumline", "submit", shellWord(task.name), "--payload", shellWord(payload)];
  cli.push("--queue", shellWord(task.queue), "--retries", String(task.retries));
  cli.push("--backoff", String(task.backoff.base));
  if (task.priority) cli.push("--priority", String(task.priority));
  if (task.timeout !== null) cli.push("--timeout", String(task.timeout));
  for (const tag of task.tags) cli.push("--tag", shellWord(tag));
  if (task.limit_key !== null) cli.push("--limit-key", shellWord(task.limit_key));
  for (const { webhook, email } of task.notify) cli.push("--notify", shellWord(webhook ?? email ?? ""));
  const { base, factor, cap, jitter } = task.backoff;
  const options = [
    `queue=${pythonText(task.queue)}`,
    `retries=${task.retries}`,
    `backoff=Backoff(base=${base}, factor=${factor}, cap=${cap}, jitter=${jitter})`,
    ...(task.priority ? [`priority=${task.priority}`] : []),
    ...(task.timeout === null ? [] : [`timeout=${task.timeout}`]),
    ...(task.tags.length ? [`tags=[${task.tags.map(pythonText).join(", ")}]`] : []),
    ...(task.limit_key === null ? [] : [`limit_key=${pythonText(task.limit_key)}`]),
    ...(task.notify.length ? [`notify=[${task.notify.map(pythonTarget).join(", ")}]`] : []),
  ];
  const python = [
    "import json",
    "",
    `from drumline import Backoff, Drumline${task.notify.length ? ", NotifyTarget" : ""}`,
    "",
    `app = Drumline("console", url=${pythonText(url)})  # the key: DRUMLINE_API_KEY`,
    "handle = app.submit_task(",
    `    ${pythonText(task.name)},`,
    `    json.loads(${pythonText(payload)}),`,
    ...options.map((option) => `    ${option},`),
    ")",
    "print(handle.result())",
  ];
  const request = curl(url, "POST", "/api/v1/tasks", requestLike(task));
  return ways(canSay(task) ? cli.join(" ") : null, request, python.join("\n"));
}

function pythonTarget({ on, webhook, email }: NotifyLike): string {
  const to = webhook === null ? `email=${pythonText(email ?? "")}` : `webhook=${pythonText(webhook)}`;
  return `NotifyTarget(${to}, on=(${on
    .map((outcome) => `${pythonText(outcome)}, `)
    .join("")
    .trimEnd()}))`;
}

/** Ways to read a job. */
export function jobSnippets(url: string, id: string): Snippet[] {
  const python = [
    "from drumline import Drumline",
    "",
    `app = Drumline("console", url=${pythonText(url)})  # the key: DRUMLINE_API_KEY`,
    `print(app.job(${pythonText(id)}).info())`,
  ];
  const request = curl(url, "GET", `/api/v1/jobs/${encodeURIComponent(id)}`);
  return ways(`drumline jobs get ${shellWord(id)}`, request, python.join("\n"));
}

/** What of a schedule makes another one like it. */
export interface ScheduleLike {
  name: string;
  cron: string | null;
  interval: number | null;
  run_at: string | null;
  timezone: string;
  task: object | null;
  job: object | null;
  misfire: string;
  overlap: string;
}

/** Ways to create a schedule like this one. */
export function scheduleSnippets(url: string, schedule: ScheduleLike): Snippet[] {
  const rule =
    schedule.cron !== null
      ? { cron: schedule.cron, timezone: schedule.timezone }
      : schedule.interval !== null
        ? { interval: schedule.interval }
        : { run_at: schedule.run_at };
  const target = schedule.task ? { task: schedule.task } : { job: schedule.job };
  const { name, misfire, overlap } = schedule;
  const body = { name, ...rule, ...target, misfire, overlap };
  return requestWays(scheduleCommand(schedule), url, "POST", "/api/v1/schedules", body);
}

/** The command that creates a schedule, if it has options for all of it. */
function scheduleCommand({ task, ...schedule }: ScheduleLike): string[] | null {
  if (!task || Object.keys(task).some((field) => !["name", "payload", "queue"].includes(field))) return null;
  const { name, payload, queue } = task as { name: string; payload?: unknown; queue?: string };
  const options = flags({
    "--cron": schedule.cron,
    "--tz": schedule.cron === null ? null : schedule.timezone,
    "--every": schedule.interval === null ? null : `${schedule.interval}s`,
    "--at": schedule.run_at,
    "--task": name,
    "--payload": payload === undefined || payload === null ? null : encode(payload),
    "--queue": queue,
    "--misfire": schedule.misfire,
    "--overlap": schedule.overlap,
  });
  return ["drumline", "schedules", "create", schedule.name, ...options];
}

/** What is read by its id or name: its commands, and its place in the API. */
const READ = {
  queue: [["queues", "get"], "queues"],
  worker: [["workers", "get"], "workers"],
  bulk: [["bulk", "get"], "bulk"],
  failures: [["failures", "show"], "failures/groups"],
} as const;

/** Ways to read a queue, a worker, a bulk operation or a group of failures. */
export function readSnippets(url: string, kind: keyof typeof READ, id: string): Snippet[] {
  const [words, place] = READ[kind];
  return requestWays(["drumline", ...words, id], url, "GET", `/api/v1/${place}/${encodeURIComponent(id)}`);
}

/** What of an alert makes another one like it. */
export interface AlertLike {
  name: string;
  measure: string;
  threshold: number;
  window: number | null;
  for: number;
  least: number;
  severity: string;
  task: string | null;
  queue: string | null;
  schedule: string | null;
  slo: string | null;
  note: string | null;
}

/** Ways to create an alert like this one; `threshold` is its threshold as people type it. */
export function alertSnippets(url: string, alert: AlertLike, threshold: string): Snippet[] {
  const { name, measure, window, for: hold, least, severity, schedule, slo, note } = alert;
  // An alert about an objective has its task and queue from there.
  const { task, queue } = slo === null ? alert : { task: null, queue: null };
  const given = { window, for: hold || null, least: least > 1 ? least : null, task, queue, schedule, slo, note };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const options = flags({
    "--on": measure,
    "--above": threshold,
    "--window": window === null ? null : `${window}s`,
    "--for": hold ? `${hold}s` : null,
    "--least": given.least,
    "--severity": severity,
    "--task": task,
    "--queue": queue,
    "--schedule": schedule,
    "--slo": slo,
    "--note": note,
  });
  const body = { name, measure, threshold: alert.threshold, severity, ...set };
  return requestWays(["drumline", "alerts", "create", name, ...options], url, "POST", "/api/v1/alerts", body);
}

/** What of a subscription makes another one like it; its secret is not known. */
export interface SubscriptionLike {
  name: string;
  events: string[];
  task: string | null;
  queue: string | null;
  job: string | null;
  tag: string | null;
  webhook: string | null;
  email: string | null;
}

/** Ways to create a subscription like this one. */
export function subscriptionSnippets(url: string, subscription: SubscriptionLike): Snippet[] {
  const { name, events, task, queue, job, tag, webhook, email } = subscription;
  const given = { webhook, email, task, queue, job, tag };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const options = [
    ...events.flatMap((event) => ["--on", event]),
    ...flags(Object.fromEntries(Object.entries(set).map(([field, value]) => [`--${field}`, value]))),
  ];
  const command = ["drumline", "subscriptions", "create", name, ...options];
  return requestWays(command, url, "POST", "/api/v1/subscriptions", { name, events, ...set });
}
