import type { JobBody } from "@/api/types";
import type { Node } from "./model";

/** Something that happened to a job, or to one of its tasks. */
export interface Happening {
  at: string;
  /** The task it happened to; nothing for the job itself. */
  key: string | null;
  words: string;
  status: string;
}

const WORDS: Record<string, string> = {
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "was cancelled",
  SKIPPED: "was skipped",
};

/** What happened, the latest first. */
export function historyOf(job: JobBody, nodes: Node[]): Happening[] {
  const found: Happening[] = [{ at: job.created_at, key: null, words: "was submitted", status: "PENDING" }];
  for (const node of nodes) {
    const again = node.attempt > 1 ? `, attempt ${node.attempt}` : "";
    if (node.started_at) {
      found.push({ at: node.started_at, key: node.key, words: `started${again}`, status: "PROCESSING" });
    }
    const ended = WORDS[node.status];
    if (node.finished_at && ended) {
      const why = node.reason ? `: ${node.reason}` : "";
      found.push({ at: node.finished_at, key: node.key, words: `${ended}${why}`, status: node.status });
    }
  }
  const ended = WORDS[job.status];
  if (job.finished_at && ended) found.push({ at: job.finished_at, key: null, words: ended, status: job.status });
  // What happened in the same millisecond keeps its order: a start before an end, the job's end last.
  return found
    .map((one, place) => ({ one, place }))
    .sort((a, b) => Date.parse(b.one.at) - Date.parse(a.one.at) || b.place - a.place)
    .map(({ one }) => one);
}
