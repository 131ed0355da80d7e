import type { WorkerBody } from "@/api/types";
import { bytes } from "./bytes";

/** The memory of a worker's processes; a dash where it is not known. */
export function memoryText({ memory }: Pick<WorkerBody, "memory">): string {
  return memory === null ? "–" : bytes(memory);
}

/** The processor time of a worker as a percentage of one core; a dash where it is not known. */
export function cpuText({ cpu }: Pick<WorkerBody, "cpu">): string {
  return cpu === null ? "–" : `${Math.round(cpu * 100).toLocaleString("en")} %`;
}

/** What a worker is called: its label, or where it runs; a key that is not told either has its id. */
export function workerName({ label, host, pid, id }: Pick<WorkerBody, "label" | "host" | "pid" | "id">): string {
  if (label) return label;
  return host ? `${host}:${pid}` : id;
}

/** What the tiles of workers are called, by id: workers with the same name are told apart by their ids. */
export function landmarkNames(workers: Pick<WorkerBody, "label" | "host" | "pid" | "id">[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const worker of workers) counts.set(workerName(worker), (counts.get(workerName(worker)) ?? 0) + 1);
  return new Map(
    workers.map((worker) => {
      const name = workerName(worker);
      return [worker.id, (counts.get(name) ?? 0) > 1 && name !== worker.id ? `${name} ${worker.id}` : name];
    }),
  );
}
