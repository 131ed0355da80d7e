import type { JobRunsBody, RunTaskBody } from "@/api/types";

/** The last runs of a job as a grid: a column for each run, the latest on the right, a row for each task. */
export interface Column {
  id: string;
  status: string;
  createdAt: string;
  /** How long it took, or takes so far. */
  seconds: number | null;
}

export interface GridRow {
  key: string;
  name: string;
  cells: (RunTaskBody | null)[];
  /** How many of the runs it failed in. */
  failures: number;
}

export function gridOf(body: JobRunsBody, now = Date.now()): { columns: Column[]; rows: GridRow[] } {
  const runs = [...body.runs].reverse();
  const columns = runs.map(({ job }) => ({
    id: job.id,
    status: job.status,
    createdAt: job.fire_time ?? job.created_at,
    seconds: secondsOf(job.started_at, job.finished_at, now),
  }));
  const rows = body.rows.map(({ key, name }) => {
    const cells = runs.map(({ tasks }) => tasks?.[key] ?? null);
    return { key, name, cells, failures: cells.filter((cell) => cell?.status === "FAILED").length };
  });
  return { columns, rows };
}

export function secondsOf(from: string | null, to: string | null, now = Date.now()): number | null {
  if (!from) return null;
  return Math.max(0, (to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
}
