import type { WorkerBody } from "@/api/types";

/** What a worker is called: its label, or where it runs; a key that is not told either has its id. */
export function workerName({ label, host, pid, id }: Pick<WorkerBody, "label" | "host" | "pid" | "id">): string {
  if (label) return label;
  return host ? `${host}:${pid}` : id;
}
