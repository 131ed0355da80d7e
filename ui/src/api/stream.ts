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
  /** What the server answers as long as it is there. */
  probe: string;
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
const LONGEST_WAIT_MS = 5_000;
const SILENCE_MS = 45_000;
const PROBE_MS = 5_000;
const SHORT_MS = 5_000;

/**
 * One connection. Events come in batches, at most four a second. A stream that ends is opened again; when that fails, the
 * server is gone until it answers. A server that answers but gives no stream is looked at every few seconds instead, and
 * the hearer is told that this is so.
 */
export class Stream {
  private waiting: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private poller: ReturnType<typeof setInterval> | null = null;
  private stop: AbortController | null = null;
  private connection: AbortController | null = null;
  private lastId: string | null = null;
  private failures = 0;
  private gone: number | null = null;
  private isChecking = false;
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

  /** Find out whether the server still answers; if it does not, the connection is given up. */
  async check(): Promise<void> {
    if (this.isChecking || this.state.kind !== "live") return;
    this.isChecking = true;
    const isThere = await this.isThere();
    this.isChecking = false;
    if (!isThere) this.connection?.abort();
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = Date.now();
      const outcome = await this.listen(signal);
      if (signal.aborted) return;
      if (outcome === "refused") {
        this.poll();
        return;
      }
      // A stream that was cut after a while is opened again at once; one that never lasts is a failure.
      this.failures = outcome === "cut" && Date.now() - began > SHORT_MS ? 0 : this.failures + 1;
      if (outcome === "failed") await this.lose(signal);
      if (signal.aborted) return;
      await pause(Math.min(500 * 2 ** this.failures, LONGEST_WAIT_MS), signal);
    }
  }

  /** The stream cannot be had: because the server does not answer, or because only the stream does not get through. */
  private async lose(signal: AbortSignal): Promise<void> {
    if (this.failures >= TRIES_BEFORE_POLLING && (await this.isThere())) {
      if (!signal.aborted) this.poll();
    } else if (!signal.aborted) {
      this.endPolling();
      this.becomeGone();
    }
  }

  private async listen(signal: AbortSignal): Promise<"refused" | "failed" | "cut"> {
    const headers: Record<string, string> = { accept: "text/event-stream", ...this.source.headers };
    if (this.lastId) headers["last-event-id"] = this.lastId;
    const silence = new AbortController();
    this.connection = silence;
    const guard = setTimeout(() => silence.abort(), SILENCE_MS);
    let response: Response;
    try {
      response = await this.reach(this.source.address, {
        headers,
        signal: AbortSignal.any([signal, silence.signal]),
        cache: "no-store",
        credentials: "same-origin",
      });
    } catch {
      return "failed";
    } finally {
      clearTimeout(guard);
    }
    if (response.status === 404 || response.status === 401 || response.status === 403) return "refused";
    if (!response.ok || !response.body) return "failed";
    const hasMissed = this.gone !== null && !this.lastId;
    this.gone = null;
    this.endPolling();
    this.become({ kind: "live" });
    if (hasMissed) this.hearer.onEvents([]);
    try {
      await this.read(response.body, silence);
    } catch {
      return "cut"; // whether the server is there is seen when the stream is opened again
    }
    return "cut";
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
    else if (data.length) {
      const event = JSON.parse(data.join("\n")) as Partial<LiveEvent>;
      if (event.type) this.gather(event as LiveEvent); // others are about the stream itself: a shard that is away
    }
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

  /** Look again every few seconds, as long as the server answers; whether it does is asked each time. */
  private poll(): void {
    this.become({ kind: "polling", every: POLL_MS / 1000 });
    this.gone = null;
    this.poller ??= setInterval(() => void this.pollOnce(), POLL_MS);
  }

  private async pollOnce(): Promise<void> {
    const isThere = await this.isThere();
    if (!this.poller) return;
    if (!isThere) {
      this.becomeGone();
      return;
    }
    this.gone = null;
    this.become({ kind: "polling", every: POLL_MS / 1000 });
    this.hearer.onEvents([]);
  }

  private endPolling(): void {
    if (this.poller) clearInterval(this.poller);
    this.poller = null;
  }

  /** Whether the server answers. A proxy that answers in its place, because it cannot reach it, does not count. */
  private async isThere(): Promise<boolean> {
    try {
      const { status } = await this.reach(this.source.probe, {
        signal: AbortSignal.timeout(PROBE_MS),
        cache: "no-store",
        credentials: "omit",
      });
      return status < 500;
    } catch {
      return false;
    }
  }

  private becomeGone(): void {
    this.gone ??= Date.now();
    this.become({ kind: "gone", since: this.gone });
  }

  private become(state: Liveness): void {
    if (JSON.stringify(state) === JSON.stringify(this.state)) return;
    this.state = state;
    this.hearer.onState(state);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
