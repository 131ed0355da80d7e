import type { QueueBody, StatsBody, WorkerBody } from "@/api/types";
import { span } from "@/parts/time";
import { texts } from "@/texts";

export interface Health {
  tone: "good" | "warn" | "bad";
  text: string;
  /** The queue that the sentence is about, if it is about one. */
  queue?: string;
}

const LATE_SECONDS = 60;
const MANY_FAILURES = 0.2;

/** The state of everything in a sentence, the worst first. */
export function healthOf(
  queues: QueueBody[],
  workers: WorkerBody[],
  stats: StatsBody | undefined,
  now = Date.now(),
): Health {
  const open = queues.filter((queue) => !queue.is_paused && queue.oldest_due_at !== null);
  const waiting = open.reduce((total, queue) => total + queue.queued, 0);
  if (workers.length === 0 && waiting > 0) {
    return { tone: "bad", text: texts.overview.noWorkerAndWaiting(waiting) };
  }
  const late = open
    .map((queue) => ({ queue, seconds: (now - Date.parse(oldestServed(queue) ?? "")) / 1000 }))
    .filter((one) => one.seconds > LATE_SECONDS)
    .sort((a, b) => b.seconds - a.seconds);
  const [worst] = late;
  if (worst) {
    return {
      tone: "warn",
      text: texts.overview.isBehind(worst.queue.name, span(worst.seconds), late.length - 1),
      queue: worst.queue.name,
    };
  }
  const recent = stats?.points.slice(-5) ?? [];
  const failed = recent.reduce((total, point) => total + point.failed, 0);
  const ended = failed + recent.reduce((total, point) => total + point.completed, 0);
  if (ended >= 20 && failed / ended > MANY_FAILURES) {
    return { tone: "warn", text: texts.overview.percentFailed(Math.round((100 * failed) / ended)) };
  }
  const paused = queues.filter((queue) => queue.is_paused);
  if (paused.length > 0) {
    const names = paused
      .slice(0, 3)
      .map((queue) => queue.name)
      .join(", ");
    return {
      tone: "warn",
      text: texts.overview.paused(names, paused.length - 3),
    };
  }
  const unserved = open.filter((queue) => (queue.unserved ?? 0) > 0).sort((a, b) => b.unserved - a.unserved);
  const [first] = unserved;
  if (first && workers.length > 0) {
    const count = unserved.reduce((total, queue) => total + queue.unserved, 0);
    return {
      tone: "warn",
      text: texts.overview.unserved(count),
      queue: first.name,
    };
  }
  if (workers.length === 0) return { tone: "warn", text: texts.overview.noWorkerIsRunningNo };
  return { tone: "good", text: texts.overview.allQueuesAreKeepingUp };
}

/** Since when the oldest task waits that a worker could run; a server of an earlier version knows only the oldest of all. */
function oldestServed(queue: QueueBody): string | null {
  return queue.oldest_served_due_at === undefined ? queue.oldest_due_at : queue.oldest_served_due_at;
}
