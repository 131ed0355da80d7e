import { PREFIX } from "./place";
import { currentUser } from "./session";
import { type LiveEvent, type Liveness, type Source, Stream } from "./stream";

export type { LiveEvent, Liveness } from "./stream";

/** What a tab says to the worker that all tabs share, and what it hears. */
export type ToWorker = { kind: "join"; source: Source } | { kind: "leave" } | { kind: "beat" } | { kind: "check" };
export type FromWorker =
  | { kind: "ready" }
  | { kind: "state"; state: Liveness }
  | { kind: "events"; events: LiveEvent[] };

type Listener = (events: LiveEvent[]) => void;

const BEAT_MS = 20_000;
const READY_MS = 3_000;
/** What every server answers, whoever asks. */
const PROBE = "/livez";

/** What this page hears of changes: over the connection that all tabs share, or over its own where they cannot. */
class Live {
  private listeners = new Set<Listener>();
  private watchers = new Set<() => void>();
  private leaving: (() => void) | null = null;
  private checking: (() => void) | null = null;
  private isPaused = false;
  private isBehind = false;
  private isAlone = false;
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
    const user = currentUser();
    if (this.leaving || this.isPaused || user === null) return;
    // The name keeps the connections of two people apart; it is not sent.
    const server = `${location.origin}${PREFIX}`;
    const source = { address: `${server}/api/v1/events#${user}`, probe: `${server}${PROBE}`, headers: {} };
    this.leaving = (this.isAlone ? null : this.join(source)) ?? this.listenAlone(source);
    if (this.isBehind) this.deliver([]);
    this.isBehind = false;
  }

  end(): void {
    this.leaving?.();
    this.leaving = null;
    this.isBehind = true;
  }

  /** Find out whether the server is still there: a request has had no answer. */
  check(): void {
    if (this.leaving) this.checking?.();
  }

  /** Start anew, as somebody else or from nothing. */
  restart(): void {
    this.end();
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
    }
  }

  private join(source: Source): (() => void) | null {
    const port = sharedPort();
    if (!port) return null;
    const say = (message: ToWorker) => port.postMessage(message);
    // A worker that never answers was not allowed to start: then this page listens by itself.
    const patience = setTimeout(() => {
      this.isAlone = true;
      this.end();
      this.start();
    }, READY_MS);
    const hear = ({ data }: MessageEvent<FromWorker>) => {
      clearTimeout(patience);
      if (data.kind === "state") this.become(data.state);
      else if (data.kind === "events") this.deliver(data.events);
    };
    port.addEventListener("message", hear);
    port.start();
    say({ kind: "join", source });
    this.checking = () => say({ kind: "check" });
    const beats = setInterval(() => say({ kind: "beat" }), BEAT_MS);
    return () => {
      clearTimeout(patience);
      clearInterval(beats);
      port.removeEventListener("message", hear);
      say({ kind: "leave" });
    };
  }

  private listenAlone(source: Source): () => void {
    const stream = new Stream(source, {
      onEvents: (events) => this.deliver(events),
      onState: (state) => this.become(state),
    });
    stream.start();
    this.checking = () => void stream.check();
    return () => stream.end();
  }

  /** Tell everybody; no events at all means: something may have changed, look again. */
  private deliver(events: LiveEvent[]): void {
    for (const listener of this.listeners) listener(events);
  }

  private become(state: Liveness): void {
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}

let shared: MessagePort | null = null;

function sharedPort(): MessagePort | null {
  if (shared || typeof SharedWorker === "undefined") return shared;
  try {
    const worker = new SharedWorker(new URL("./live-worker.ts", import.meta.url), { type: "module", name: "drumline" });
    shared = worker.port;
  } catch {
    return null; // not allowed here: each page listens by itself
  }
  return shared;
}

export const live = new Live();
