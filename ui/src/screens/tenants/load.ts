import type { KeyBody, QueueBody } from "@/api/types";

/** What a tenant has at the moment. */
export interface Load {
  /** Tasks that wait to run, due or not. */
  waiting: number;
  running: number;
  queues: number;
  paused: number;
  oldest: string | null;
}

export const NONE: Load = { waiting: 0, running: 0, queues: 0, paused: 0, oldest: null };

/** The load of each tenant, from its queues. */
export function loadByTenant(queues: QueueBody[]): Map<string, Load> {
  const loads = new Map<string, Load>();
  for (const queue of queues) {
    const before = loads.get(queue.tenant) ?? NONE;
    const due = [before.oldest, queue.oldest_due_at].filter((one) => one !== null).sort();
    loads.set(queue.tenant, {
      waiting: before.waiting + queue.queued + queue.pending,
      running: before.running + queue.processing,
      queues: before.queues + 1,
      paused: before.paused + Number(queue.is_paused),
      oldest: due[0] ?? null,
    });
  }
  return loads;
}

/** How many keys of each tenant can be used. */
export function keysByTenant(keys: KeyBody[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys)
    if (key.enabled && key.revoked_at === null) counts.set(key.tenant, (counts.get(key.tenant) ?? 0) + 1);
  return counts;
}
