import type { JobAttemptBody, JobBody } from "@/api/types";
import { texts } from "@/texts";
import type { Node } from "./model";

/** Something that happened to a job, or to one of its tasks. */
export interface Happening {
  id: string;
  at: string;
  /** The task it happened to; nothing for the job itself. */
  key: string | null;
  words: string;
  status: string;
}

/** How an execution ended, or a task or job that never ran: in words, and as the status that they stand for. */
const ENDS: Record<string, [words: string, status: string]> = {
  completed: ["completed", "COMPLETED"],
  failed: ["failed", "FAILED"],
  cancelled: [texts.job.wasCancelled, "CANCELLED"],
  skipped: [texts.job.wasSkipped, "SKIPPED"],
  retried: [texts.job.failedAndIsTriedAgain, "QUEUED"],
  snoozed: [texts.job.askedToRunLater, "QUEUED"],
  parked: ["waits", "QUEUED"],
  released: [texts.job.wasGivenBackUnfinished, "QUEUED"],
  crashed: [texts.job.lostItsWorker, "QUEUED"],
};

type Execution = Pick<JobAttemptBody, "key" | "attempt" | "epoch" | "started_at" | "finished_at" | "reason"> & {
  outcome: string;
};

/** What happened, the latest first. Of a task without executions in the list, what is known of its last. */
export function historyOf(job: JobBody, nodes: Node[], attempts: JobAttemptBody[]): Happening[] {
  const listed = new Set(attempts.map((attempt) => attempt.key));
  const known = nodes.filter((node) => !listed.has(node.key)).map(lastOf);
  const found: Happening[] = [
    { id: "made", at: job.created_at, key: null, words: texts.job.wasSubmitted, status: "PENDING" },
  ];
  for (const one of [...known, ...[...attempts].reverse()]) found.push(...startAndEnd(one));
  const [words] = ENDS[job.status.toLowerCase()] ?? [];
  if (job.finished_at && words) {
    found.push({ id: "ended", at: job.finished_at, key: null, words, status: job.status });
  }
  // What happened in the same millisecond keeps its order: a start before an end, the job's end last.
  return found
    .map((one, place) => ({ one, place }))
    .sort((a, b) => Date.parse(b.one.at) - Date.parse(a.one.at) || b.place - a.place)
    .map(({ one }) => one);
}

function lastOf(node: Node): Execution {
  return { ...node, epoch: 0, outcome: node.status.toLowerCase() };
}

function startAndEnd({ key, attempt, epoch, outcome, started_at, finished_at, reason }: Execution): Happening[] {
  const found: Happening[] = [];
  const id = `${key}/${epoch}`;
  if (started_at) {
    const words = texts.job.started(attempt);
    found.push({ id: `${id}/start`, at: started_at, key, words, status: "PROCESSING" });
  }
  const end = ENDS[outcome];
  if (finished_at && end) {
    const [words, status] = end;
    found.push({ id: `${id}/end`, at: finished_at, key, words: reason ? `${words}: ${reason}` : words, status });
  }
  return found;
}
