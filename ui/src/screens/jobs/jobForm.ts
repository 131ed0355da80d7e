import { decode, encode, RawJson } from "@/api/numbers";
import { invalid } from "@/api/problem";
import type { GraphBody, JobBody, TaskBody } from "@/api/types";
import { texts } from "@/texts";

/** A task of a job as the form has it: what is written, not yet read. */
export interface TaskRow {
  /** Stays the same while the key is changed. */
  id: number;
  key: string;
  name: string;
  needs: string;
  payload: string;
  /** Options that the form has no fields for; they are sent as they are. */
  options?: Record<string, unknown>;
}

/** What a form of a job begins with. */
export interface JobDraft {
  name: string;
  rows: TaskRow[];
  /** Options of the job that the form has no fields for. */
  options: Record<string, unknown>;
}

export const EMPTY: Omit<TaskRow, "id"> = { key: "", name: "", needs: "", payload: "{}" };

/** What is sent for the rows; raises what is wrong with each at `rows[N].field`. */
export function tasksOf(rows: readonly TaskRow[]): Record<string, unknown> {
  const faults: Record<string, string> = {};
  const tasks: Record<string, unknown> = {};
  const keys = rows.map((row) => row.key.trim());
  for (const [place, row] of rows.entries()) {
    const key = row.key.trim();
    if (!key) faults[`rows[${place}].key`] = texts.jobs.mustNotBeEmpty;
    else if (keys.indexOf(key) < place) faults[`rows[${place}].key`] = texts.jobs.isTheKeyOfAn;
    if (!row.name.trim()) faults[`rows[${place}].name`] = texts.jobs.mustNotBeEmpty;
    const needs = namesIn(row.needs);
    const unknown = needs.filter((need) => !keys.includes(need));
    if (unknown.length > 0) faults[`rows[${place}].needs`] = texts.jobs.thereIsNoTask(unknown.join(", "));
    const payload = payloadOf(row.payload);
    if (typeof payload === "string") faults[`rows[${place}].payload`] = payload;
    tasks[key] = { name: row.name.trim(), ...(needs.length > 0 ? { needs } : {}), payload, ...row.options };
  }
  if (Object.keys(faults).length > 0) throw invalid(faults);
  return tasks;
}

function payloadOf(text: string): RawJson | string {
  try {
    JSON.parse(text);
    return new RawJson(text);
  } catch (error) {
    return texts.parts.isNotJson(error instanceof Error ? error.message : String(error));
  }
}

function namesIn(text: string): string[] {
  return [...new Set(text.split(",").map((name) => name.trim()))].filter(Boolean);
}

/** The field of the form that a field of the request is in: `tasks.load.needs` is that of the row of `load`. */
export function fieldOf(path: string, rows: readonly TaskRow[]): string {
  // A key may have dots in it: the longest one that fits is meant.
  const fitting = rows
    .map((row, place) => ({ key: row.key.trim(), place }))
    .filter(({ key }) => key && (path === `tasks.${key}` || path.startsWith(`tasks.${key}.`)))
    .sort((one, other) => other.key.length - one.key.length)[0];
  if (!fitting) return path;
  const rest = path.slice(`tasks.${fitting.key}`.length).replace(/^\./, "");
  return `rows[${fitting.place}].${rest || "key"}`;
}

/** The job as JSON, as far as it is written: what is no JSON yet is left out. */
export function documentOf(name: string, rows: readonly TaskRow[], options: Record<string, unknown> = {}): string {
  const tasks = Object.fromEntries(
    rows.map((row) => {
      const payload = payloadOf(row.payload);
      const needs = namesIn(row.needs);
      return [
        row.key.trim(),
        {
          name: row.name.trim(),
          ...(needs.length > 0 ? { needs } : {}),
          payload: typeof payload === "string" ? {} : decode(row.payload),
          ...row.options,
        },
      ];
    }),
  );
  return encode({ name, ...options, tasks }, 2);
}

/** A job like another one: its tasks with their payloads and options, and what they need. Times, keys and notifications are left out. */
export function draftLike(job: JobBody, nodes: GraphBody["nodes"], tasks: readonly TaskBody[]): JobDraft {
  const taskOf = new Map(tasks.map((task) => [task.id, task]));
  const rows = nodes.map((node, place) => {
    const task = taskOf.get(node.task_id);
    const isText = node.needs.every((need) => namesIn(need).join() === need); // keys may have commas in them
    return {
      id: place + 1,
      key: node.key,
      name: node.name,
      needs: isText ? node.needs.join(", ") : "",
      payload: encode(task?.payload ?? null, 2),
      options: {
        ...(isText ? {} : { needs: node.needs }),
        ...(node.run_if === "all_succeeded" ? {} : { run_if: node.run_if }),
        ...(task ? optionsOf(task, job) : {}),
      },
    };
  });
  return {
    name: job.name,
    rows,
    options: {
      ...(job.owner === null ? {} : { owner: job.owner }),
      retries: job.retries,
      backoff: job.backoff,
      ...(job.tags.length > 0 ? { tags: job.tags } : {}),
    },
  };
}

function optionsOf(task: TaskBody, job: JobBody): Record<string, unknown> {
  return {
    queue: task.queue,
    ...(task.priority ? { priority: task.priority } : {}),
    ...(task.retries === job.retries ? {} : { retries: task.retries }),
    ...(encode(task.backoff) === encode(job.backoff) ? {} : { backoff: task.backoff }),
    ...(task.timeout === null ? {} : { timeout: task.timeout }),
    ...(task.tags.length > 0 ? { tags: task.tags } : {}),
    ...(task.limit_key === null ? {} : { limit_key: task.limit_key }),
  };
}
