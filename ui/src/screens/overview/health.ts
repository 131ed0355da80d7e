import type { QueueBody, StatsBody, WorkerBody } from "@/api/types";
import { span } from "@/parts/time";

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
    return { tone: "bad", text: `No worker is running, and ${waiting.toLocaleString("en")} tasks wait.` };
  }
  const late = open
    .map((queue) => ({ queue, seconds: (now - Date.parse(oldestServed(queue) ?? "")) / 1000 }))
    .filter((one) => one.seconds > LATE_SECONDS)
    .sort((a, b) => b.seconds - a.seconds);
  const [worst] = late;
  if (worst) {
    const others = late.length > 1 ? `, and ${late.length - 1} more behind` : "";
    return {
      tone: "warn",
      text: `${worst.queue.name} is ${span(worst.seconds)} behind${others}.`,
      queue: worst.queue.name,
    };
  }
  const recent = stats?.points.slice(-5) ?? [];
  const failed = recent.reduce((total, point) => total + point.failed, 0);
  const ended = failed + recent.reduce((total, point) => total + point.completed, 0);
  if (ended >= 20 && failed / ended > MANY_FAILURES) {
    return { tone: "warn", text: `${Math.round((100 * failed) / ended)} % of what ended lately failed.` };
  }
  const paused = queues.filter((queue) => queue.is_paused);
  if (paused.length > 0) {
    const names = paused
      .slice(0, 3)
      .map((queue) => queue.name)
      .join(", ");
    return {
      tone: "warn",
      text: `Paused: ${names}${paused.length > 3 ? ` and ${paused.length - 3} more` : ""}. The rest keeps up.`,
    };
  }
  const unserved = open.filter((queue) => (queue.unserved ?? 0) > 0).sort((a, b) => b.unserved - a.unserved);
  const [first] = unserved;
  if (first && workers.length > 0) {
    const count = unserved.reduce((total, queue) => total + queue.unserved, 0);
    const tasks = count === 1 ? "1 task is" : `${count.toLocaleString("en")} tasks are`;
    return { tone: "warn", text: `${tasks} of a type that no worker has. The rest keeps up.`, queue: first.name };
  }
  if (workers.length === 0) return { tone: "warn", text: "No worker is running. Nothing waits." };
  return { tone: "good", text: "All queues keep up." };
}

/** Since when the oldest task waits that a worker could run; a server of an earlier version knows only the oldest of all. */
function oldestServed(queue: QueueBody): string | null {
  return queue.oldest_served_due_at === undefined ? queue.oldest_due_at : queue.oldest_served_due_at;
}
