/** The terms of the search box: `status:failed name:charge* -queue:bulk payload.order_id=17`, in any order. */

export interface TaskSearch {
  status?: string;
  queue?: string;
  name?: string;
  tag?: string;
  key?: string;
  worker?: string;
  job?: string;
  /** Ended within the last so long, such as 15m. */
  ended?: string;
  /** Submitted within the last so long, such as 2h. */
  since?: string;
  /** All other terms, as they were typed: the server reads them. */
  filter?: string;
}

export const WORDS = ["status", "queue", "name", "tag", "key", "worker", "job", "ended", "since"] as const;
export type Word = (typeof WORDS)[number];

export const STATUSES = ["pending", "queued", "processing", "completed", "failed", "cancelled", "skipped"];
export const JOB_STATUSES = ["pending", "processing", "completed", "failed", "cancelled"];

/** The list that the search box is about. */
export type Subject = "tasks" | "jobs" | "failures" | "logs";

type Fields = readonly (readonly [string, string])[];

const TASK_FIELDS: Fields = [
  ["status:", STATUSES.join(", ")],
  ["name:", "a task's name; charge* for its beginning"],
  ["queue:", "a queue's name"],
  ["tag:", "one tag"],
  ["error:", "text in the error"],
  ["payload.", "a field of the payload: payload.order_id=17"],
  ["since:", "submitted within the last 15m, 2h, 7d"],
  ["ended:", "ended within the last 15m, 2h, 7d"],
  ["created>", "later than 2h ago, or 2026-10-01"],
  ["duration>", "ran longer than 5s, 2m"],
  ["attempts>", "more attempts than 2"],
  ["priority>", "above 0, high, low"],
  ["due<", "due before +1h"],
  ["age>", "submitted longer ago than 1h"],
  ["key:", "an idempotency key"],
  ["worker:", "a worker's id"],
  ["job:", "a job's id"],
  ["id:", "the beginning of an id"],
];

/** What can be searched by: the beginning of a term, and what it means. Logs are searched by their tasks. */
export const FIELDS: Record<Subject, Fields> = {
  tasks: TASK_FIELDS,
  logs: TASK_FIELDS,
  jobs: [
    ["status:", JOB_STATUSES.join(", ")],
    ["name:", "a job's name; nightly* for its beginning"],
    ["owner:", "who owns it"],
    ["tag:", "one tag"],
    ["error:", "text in the reason"],
    ["created>", "later than 2h ago, or 2026-10-01"],
    ["duration>", "ran longer than 5m"],
    ["tasks>", "has more tasks than 100"],
    ["failed>", "more failed tasks than 0"],
    ["key:", "an idempotency key"],
    ["id:", "the beginning of an id"],
  ],
  failures: [
    ["error:", "text in the error"],
    ["kind:", "the class of the error"],
    ["name:", "a task's name"],
    ["queue:", "a queue's name"],
    ["count>", "more failures than 10"],
    ["last>", "last seen later than 2h ago"],
    ["first>", "first seen later than 2d ago"],
    ["owner:", "who takes care of it"],
  ],
};
const OTHERS = ["until", "started", "state", "attempt", "finished", "idempotency_key"];
const KNOWN = new Set([...FIELDS.tasks.map(([text]) => text.replace(/\W$/, "")), ...WORDS, ...OTHERS]);

const TERM = /(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g;
const SIMPLE = /^(\w+):([^<>=].*)$/;
const FIELD = /^-?([A-Za-z_]\w*)(?:[:=<>]|!=)/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export interface Parsed {
  search: TaskSearch;
  /** A whole task id: its page is what is meant. */
  id: string | null;
  /** What could not be understood, in words. */
  notes: string[];
}

/** Read what somebody typed. What is more than a word and a value is left to the server. */
export function parseSearch(text: string): Parsed {
  const search: TaskSearch = {};
  const notes: string[] = [];
  const rest: string[] = [];
  let id: string | null = null;
  for (const [term] of text.matchAll(TERM)) {
    const note = noteOn(term);
    if (note) notes.push(note);
    else if (ID.test(term)) id = term.toLowerCase();
    else if (!take(term, search)) rest.push(term);
  }
  if (rest.length > 0) search.filter = rest.join(" ");
  return { search, id, notes };
}

/** Put a simple term where the list has a place for it; false if it is none. */
function take(term: string, search: TaskSearch): boolean {
  const [, given = "", raw = ""] = SIMPLE.exec(term) ?? [];
  const word = given.toLowerCase().replace("state", "status") as Word;
  const isPlain = raw.startsWith('"') ? /^"(?:[^"\\]|\\.)*"$/.test(raw) : !/[*"]/.test(raw);
  if (!WORDS.includes(word) || search[word] !== undefined || !isPlain) return false;
  const value = unquoted(raw);
  if ((word === "ended" || word === "since") && spanOf(value) === null) return false;
  if (word !== "status" && !raw.startsWith('"') && value.includes(",")) return false;
  search[word] = word === "status" ? value.toLowerCase() : value;
  return true;
}

function noteOn(term: string): string | null {
  const field = FIELD.exec(term)?.[1]?.toLowerCase();
  if (field && field !== "payload" && !KNOWN.has(field)) {
    return `"${field}" is not a field; there are ${FIELDS.tasks.map(([text]) => text.replace(/\W$/, "")).join(", ")}`;
  }
  const [, status] = /^-?(?:status|state):(.+)$/i.exec(term) ?? [];
  if (
    status &&
    !unquoted(status)
      .split(",")
      .every((one) => STATUSES.includes(one.toLowerCase()))
  ) {
    return `"${status}" is not a status; use ${STATUSES.join(", ")}`;
  }
  const [, span] = /^(?:ended|since):([a-z].*)$/i.exec(term) ?? [];
  return span ? `"${span}" is not a duration; use 15m, 2h or 7d` : null;
}

/** A search with times instead of spans that are counted back from now, so that it means the same a moment later. */
export function frozen({ since, ended, ...search }: TaskSearch, now: number): TaskSearch {
  const term = (field: string, span: string | undefined) => {
    const ms = span === undefined ? null : spanOf(span);
    return ms === null ? [] : [`${field}>=${new Date(now - ms).toISOString()}`];
  };
  const terms = [...(search.filter ? [search.filter] : []), ...term("created", since), ...term("ended", ended)];
  return terms.length > 0 ? { ...search, filter: terms.join(" ") } : search;
}

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Return how many milliseconds a text such as 15m means, or nothing. */
export function spanOf(text: string): number | null {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNITS[unit] ?? 0);
}

/** Write a search as somebody would type it. */
export function writeSearch(search: TaskSearch): string {
  const words = WORDS.filter((word) => search[word]).map((word) => `${word}:${quoted(search[word] ?? "", word)}`);
  return [...words, ...(search.filter ? [search.filter] : [])].join(" ");
}

/** What a list is narrowed by, as terms: each field with its value, then the terms as they were typed. */
export function termsOf(search: Readonly<Record<string, string | undefined>>, filter = ""): string {
  const terms = Object.entries(search).flatMap(([field, value]) => (value ? [`${field}:${quoted(value, field)}`] : []));
  return [...terms, filter].join(" ").trim();
}

function quoted(value: string, word: string): string {
  const isOdd = word === "status" ? /[\s"]/ : /[\s"*,]|^[<>=]/;
  return isOdd.test(value) ? JSON.stringify(value) : value;
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return JSON.parse(value) as string;
  } catch {
    return value.replaceAll('"', "");
  }
}
