import { QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { type LiveEvent, type Liveness, live } from "./live";
import { missingIn } from "./missing";
import { Problem } from "./problem";

const TRIES = 2;

/** What was read from the server, and when it is read again: never by itself, only when something changed. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // Whether the machine is on a network says nothing of a server that may be on the same machine.
      networkMode: "always",
      refetchOnWindowFocus: () => live.state.kind !== "paused",
      retry: (count, error) => error instanceof Problem && error.isPassing && count < TRIES,
      retryDelay: (count) => 400 * 2 ** count,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

export function useLiveness(): Liveness {
  return useSyncExternalStore(
    (watcher) => live.watch(watcher),
    () => live.state,
  );
}

/** How often something is read again; never while the page is paused, nor what the server has refused for good. */
export function every(ms: number | false): (query: { state: { error: Error | null } }) => number | false {
  return (query) => (live.state.kind === "paused" || isFinal(query) ? false : ms);
}

/** Whether asking again would get the same answer: there is no such thing, or it may not be seen. */
function isFinal({ state }: { state: { error: Error | null } }): boolean {
  return state.error instanceof Problem && !state.error.isPassing;
}

let wasPaused = false;
let wasGone = false;
live.watch(() => {
  const { kind } = live.state;
  // What could not be read while the server was away is read once it is back, whatever events tell.
  if (wasGone && (kind === "live" || kind === "polling")) void queries.invalidateQueries({ predicate: hasFailed });
  wasGone = kind === "gone" || (wasGone && kind === "connecting");
  const isPaused = kind === "paused";
  if (wasPaused === isPaused) return;
  wasPaused = isPaused;
  // Timers that run already go by the old answer: each is asked again.
  for (const query of queries.getQueryCache().getAll()) {
    for (const observer of query.observers) observer.setOptions(observer.options);
  }
  if (!isPaused) void queries.invalidateQueries();
});

function hasFailed(query: { state: { error: Error | null } }): boolean {
  return query.state.error !== null;
}

/** Something that is shown although it could not be read again: since when it is out of date, and why. */
export interface Stale {
  since: number;
  error: Error;
}

let stale: Stale | null = null;

/** What is shown and could not be read again, the oldest of it; nothing if all is as the server has it. */
function findStale(): Stale | null {
  let found: Stale | null = null;
  for (const { state } of queries.getQueryCache().findAll({ type: "active", predicate: hasFailed })) {
    if (state.data === undefined || !state.error || (found && found.since <= state.dataUpdatedAt)) continue;
    found = { since: state.dataUpdatedAt, error: state.error };
  }
  if (found?.since !== stale?.since || found?.error.message !== stale?.error.message) stale = found;
  return stale;
}

export function useStale(): Stale | null {
  return useSyncExternalStore((watcher) => queries.getQueryCache().subscribe(watcher), findStale);
}

let missing: readonly string[] = [];

/** The shards that answers on this page miss: what they hold is not in lists and counts. */
function findMissing(): readonly string[] {
  const found = new Set<string>();
  for (const { state } of queries.getQueryCache().findAll({ type: "active" })) {
    for (const name of missingIn(state.data)) found.add(name);
  }
  const names = [...found].sort();
  if (names.join() !== missing.join()) missing = names;
  return missing;
}

export function useMissing(): readonly string[] {
  return useSyncExternalStore((watcher) => queries.getQueryCache().subscribe(watcher), findMissing);
}

/** Read again what could not be read. */
export function readAgain(): void {
  void queries.invalidateQueries({ predicate: hasFailed });
}

/** Hear of changes while a screen is shown; no events at all means that anything may have changed. */
export function useLive(listener: (events: LiveEvent[]) => void): void {
  useEffect(() => live.subscribe(listener), [listener]);
}

export type Concern = (event: LiveEvent) => boolean;

/** Events of some types: each is named by how it begins. */
export function ofTypes(...prefixes: string[]): Concern {
  return (event) => prefixes.some((prefix) => event.type.startsWith(prefix));
}

/** Events about one thing, or about a task of it. */
export function about(id: string): Concern {
  return (event) => event.subject === id || event.data?.job === id;
}

/** Events that change what has failed for good. */
export const ABOUT_FAILURES = ofTypes(
  "drumline.task.failed",
  "drumline.task.requeued",
  "drumline.task.resumed",
  "drumline.dead_letter.",
  "drumline.failure_group.",
  "drumline.bulk.",
);

/** Events that change what has failed for one cause: decisions about it, and failures of its tasks. */
export function aboutGroup(fingerprint: string, names: readonly string[]): Concern {
  return (event) => {
    if (event.type.startsWith("drumline.failure_group.")) return event.subject === fingerprint;
    const { name } = event.data ?? {};
    return ABOUT_FAILURES(event) && (typeof name !== "string" || names.length === 0 || names.includes(name));
  };
}

/** Events about jobs, and about tasks of jobs. */
export const ABOUT_JOBS: Concern = (event) => event.type.startsWith("drumline.job.") || Boolean(event.data?.job);

/** Read these again when events come that concern them, at most once in `every` milliseconds. */
export function useRefreshOn(concern: Concern, keys: readonly (readonly unknown[])[], every = 1_000): void {
  const client = useQueryClient();
  const text = JSON.stringify(keys);
  const isMine = useRef(concern);
  isMine.current = concern;
  useEffect(() => {
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isNamed = false;
    const refresh = () => {
      const predicate = isNamed ? () => true : (query: { state: { error: Error | null } }) => !isFinal(query);
      timer = null;
      last = Date.now();
      isNamed = false;
      for (const key of JSON.parse(text) as unknown[][]) void client.invalidateQueries({ queryKey: key, predicate });
    };
    const stop = live.subscribe((events) => {
      const mine = events.some((event) => isMine.current(event));
      if (events.length > 0 && !mine) return;
      isNamed ||= mine;
      timer ??= setTimeout(refresh, Math.max(0, last + every - Date.now()));
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [client, text, every]);
}
