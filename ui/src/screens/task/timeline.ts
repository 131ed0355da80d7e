import type { AttemptBody, TaskBody } from "@/api/types";

/** A stretch of a task's life: it waited, or it ran. */
export interface Stretch {
  kind: "delayed" | "waited" | "ran";
  from: number;
  to: number;
  /** Of an execution: which it was and how it ended. */
  attempt?: number;
  outcome?: string;
}

/** What a task has done from when it was made until it ended, or until now. */
export function stretchesOf(task: TaskBody, attempts: AttemptBody[], isEnded: boolean, now = Date.now()): Stretch[] {
  const started = attempts.filter((attempt) => attempt.started_at !== null);
  const found: Stretch[] = [];
  let at = Date.parse(task.created_at);
  for (const attempt of started) {
    const from = Date.parse(attempt.started_at ?? "");
    const to = attempt.finished_at ? Date.parse(attempt.finished_at) : Math.max(now, from);
    // When it was due is known of the latest execution only: until then it was held back, after that it queued.
    const due = attempt === started.at(-1) && task.due_at ? Date.parse(task.due_at) : at;
    wait(found, at, Math.min(due, from), from);
    found.push({ kind: "ran", from, to, attempt: attempt.attempt, outcome: attempt.outcome });
    at = to;
  }
  if (!isEnded && started.at(-1)?.finished_at !== null) {
    const due = task.due_at ? Date.parse(task.due_at) : at;
    wait(found, at, Math.min(Math.max(due, at), now), now);
  }
  return found;
}

function wait(found: Stretch[], from: number, due: number, to: number): void {
  if (due > from) found.push({ kind: "delayed", from, to: due });
  if (to > Math.max(from, due)) found.push({ kind: "waited", from: Math.max(from, due), to });
}
