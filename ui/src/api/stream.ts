/** The stream of events from the server: resumed where it was cut, and replaced by polling where it cannot be had. */

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

export interface Source {
  address: string;
  headers: Record<string, string>;
}

export interface Hearer {
  /** No events at all means: something may have changed, look again. */
  onEvents: (events: LiveEvent[]) => void;
  onState: (state: Liveness) => void;
}

const BATCH_MS = 250;
const POLL_MS = 5_000;
const TRIES_BEFORE_POLLING = 3;
const LONGEST_WAIT_MS = 15_000;
const SILENCE_MS = 45_000;

/**
 * One connection. Events come in batches, at most four a second. After three failures in a row the hearer is told to
 * look again every few seconds, and that this is so, while the connection is tried again now and then.
 */
export class Stream {
  private waiting: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private poller: ReturnType<typeof setInterval> | null = null;
  private stop: AbortController | null = null;
  private lastId: string | null = null;
  private failures = 0;
  private gone: number | null = null;
  state: Liveness = { kind: "connecting" };

  constructor(
    private readonly source: Source,
    private readonly hearer: Hearer,
    private readonly reach: typeof fetch = (...given) => fetch(...given),
  ) {}

  start(): void {
    if (this.stop) return;
    this.stop = new AbortController();
    void this.run(this.stop.signal);
  }

  end(): void {
    this.stop?.abort();
    this.stop = null;
    this.endPolling();
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.waiting = [];
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
    const headers: Record<string, string> = { accept: "text/event-stream", ...this.source.headers };
    if (this.lastId) headers["last-event-id"] = this.lastId;
    const silence = new AbortController();
    const response = await this.reach(this.source.address, {
      headers,
      signal: AbortSignal.any([signal, silence.signal]),
      cache: "no-store",
      credentials: "same-origin",
    });
    if (response.status === 404 || response.status === 401 || response.status === 403) throw new Refused();
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    this.failures = 0;
    const hasMissed = this.gone !== null && !this.lastId;
    this.gone = null;
    this.endPolling();
    this.become({ kind: "live" });
    if (hasMissed) this.hearer.onEvents([]);
    await this.read(response.body, silence);
  }

  private async read(body: ReadableStream<Uint8Array>, silence: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const guard = setTimeout(() => silence.abort(), SILENCE_MS);
      const { value, done } = await reader.read().finally(() => clearTimeout(guard));
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
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
    if (type === "resync") this.hearer.onEvents([]);
    else if (data.length) this.gather(JSON.parse(data.join("\n")) as LiveEvent);
  }

  private gather(event: LiveEvent): void {
    this.waiting.push(event);
    this.timer ??= setTimeout(() => {
      this.timer = null;
      const events = this.waiting;
      this.waiting = [];
      this.hearer.onEvents(events);
    }, BATCH_MS);
  }

  private poll(): void {
    this.become({ kind: "polling", every: POLL_MS / 1000 });
    this.poller ??= setInterval(() => this.hearer.onEvents([]), POLL_MS);
  }

  private endPolling(): void {
    if (this.poller) clearInterval(this.poller);
    this.poller = null;
  }

  private become(state: Liveness): void {
    this.state = state;
    this.hearer.onState(state);
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
