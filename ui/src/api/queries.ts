import { QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { type LiveEvent, type Liveness, live } from "./live";
import { Problem } from "./problem";

const TRIES = 2;

/** What was read from the server, and when it is read again: never by itself, only when something changed. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: () => live.state.kind !== "paused",
      retry: (count, error) => error instanceof Problem && error.isPassing && count < TRIES,
      retryDelay: (count) => 400 * 2 ** count,
    },
    mutations: { retry: false },
  },
});

export function useLiveness(): Liveness {
  return useSyncExternalStore(
    (watcher) => live.watch(watcher),
    () => live.state,
  );
}

/** How often something is read again; never while the page is paused. */
export function every(ms: number | false): () => number | false {
  return () => (live.state.kind === "paused" ? false : ms);
}

let wasPaused = false;
live.watch(() => {
  const isPaused = live.state.kind === "paused";
  if (wasPaused === isPaused) return;
  wasPaused = isPaused;
  // Timers that run already go by the old answer: each is asked again.
  for (const query of queries.getQueryCache().getAll()) {
    for (const observer of query.observers) observer.setOptions(observer.options);
  }
  if (!isPaused) void queries.invalidateQueries();
});

/** Hear of changes while a screen is shown; no events at all means that anything may have changed. */
export function useLive(listener: (events: LiveEvent[]) => void): void {
  useEffect(() => live.subscribe(listener), [listener]);
}

/** Read these again when events of such a type come, at most once in `every` milliseconds. */
export function useRefreshOn(prefix: string, keys: readonly (readonly unknown[])[], every = 1_000): void {
  const client = useQueryClient();
  const text = JSON.stringify(keys);
  useEffect(() => {
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const refresh = () => {
      timer = null;
      last = Date.now();
      for (const key of JSON.parse(text) as unknown[][]) void client.invalidateQueries({ queryKey: key });
    };
    const stop = live.subscribe((events) => {
      if (events.length > 0 && !events.some((event) => event.type.startsWith(prefix))) return;
      timer ??= setTimeout(refresh, Math.max(0, last + every - Date.now()));
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [client, prefix, text, every]);
}
