import { currentKey } from "./key";
import { PREFIX } from "./place";

/** A change that the server tells of: a CloudEvent. */
export interface LiveEvent {
  id: string;
  type: string;
  subject: string;
  time: string;
  data: Record<string, unknown>;
}

export type Liveness =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "polling"; every: number }
  | { kind: "paused" }
  | { kind: "gone"; since: number };

type Listener = (events: LiveEvent[]) => void;

const BATCH_MS = 250;
const POLL_MS = 5_000;
const TRIES_BEFORE_POLLING = 3;
const LONGEST_WAIT_MS = 15_000;
const SILENCE_MS = 45_000;

/**
 * One stream for the whole page. Events come in batches, at most four a second; a cut connection resumes where it was.
 * After three failures the page polls, and says so, while the stream is tried again now and then.
 */
class Live {
  private listeners = new Set<Listener>();
  private watchers = new Set<() => void>();
  private waiting: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private poller: ReturnType<typeof setInterval> | null = null;
  private stop: AbortController | null = null;
  private lastId: string | null = null;
  private failures = 0;
  private isPaused = false;
  private gone: number | null = null;
  state: Liveness = { kind: "connecting" };

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  start(): void {
    if (this.stop || this.isPaused || !currentKey()) return;
    this.stop = new AbortController();
    void this.run(this.stop.signal);
  }

  end(): void {
    this.stop?.abort();
    this.stop = null;
    this.endPolling();
  }

  /** Start anew, as somebody else or from nothing. */
  restart(): void {
    this.end();
    this.lastId = null;
    this.failures = 0;
    this.become({ kind: "connecting" });
    this.start();
  }

  togglePause(): void {
    this.isPaused = !this.isPaused;
    if (this.isPaused) {
      this.end();
      this.become({ kind: "paused" });
    } else {
      this.become({ kind: "connecting" });
      this.start();
      this.deliver([]);
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.listen(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused) {
          this.poll();
          return;
        }
      }
      if (signal.aborted) return;
      this.failures += 1;
      this.gone ??= Date.now();
      if (this.failures >= TRIES_BEFORE_POLLING) this.poll();
      else this.become({ kind: "gone", since: this.gone });
      await pause(Math.min(500 * 2 ** this.failures, LONGEST_WAIT_MS), signal);
    }
  }

  private async listen(signal: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { accept: "text/event-stream", "x-api-key": currentKey() ?? "" };
    if (this.lastId) headers["last-event-id"] = this.lastId;
    const silence = new AbortController();
    const response = await fetch(`${PREFIX}/api/v1/events`, {
      headers,
      signal: AbortSignal.any([signal, silence.signal]),
      cache: "no-store",
    });
    if (response.status === 404 || response.status === 401 || response.status === 403) throw new Refused();
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    this.failures = 0;
    const wasGone = this.gone !== null && !this.lastId;
    this.gone = null;
    this.endPolling();
    this.become({ kind: "live" });
    if (wasGone) this.deliver([]);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const guard = setTimeout(() => silence.abort(), SILENCE_MS);
      const { value, done } = await reader.read();
      clearTimeout(guard);
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.take(block);
    }
  }

  private take(block: string): void {
    let id: string | null = null;
    let type = "";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("id:")) id = line.slice(3).trim();
      else if (line.startsWith("event:")) type = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
    }
    if (id !== null) this.lastId = id;
    if (type === "resync") this.deliver([]);
    else if (data.length) this.gather(JSON.parse(data.join("\n")) as LiveEvent);
  }

  private gather(event: LiveEvent): void {
    this.waiting.push(event);
    this.timer ??= setTimeout(() => {
      this.timer = null;
      const events = this.waiting;
      this.waiting = [];
      this.deliver(events);
    }, BATCH_MS);
  }

  /** Tell everybody; no events at all means: something may have changed, look again. */
  private deliver(events: LiveEvent[]): void {
    for (const listener of this.listeners) listener(events);
  }

  private poll(): void {
    this.become({ kind: "polling", every: POLL_MS / 1000 });
    this.poller ??= setInterval(() => this.deliver([]), POLL_MS);
  }

  private endPolling(): void {
    if (this.poller) clearInterval(this.poller);
    this.poller = null;
  }

  private become(state: Liveness): void {
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}

class Refused extends Error {}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export const live = new Live();
