import { useQuery } from "@tanstack/react-query";
import { call } from "./client";
import { useMay } from "./me";
import type { UsualDurations } from "./types";

const MOST = 100;
const KEPT_MS = 60_000;

/** How long executions of a type usually take, in seconds, and of how many of the last 7 days that is known. */
export interface Usual {
  runs: number;
  p50: number;
  p95: number;
}

/** How long executions of these types usually take, by name; empty until that is known, or if it may not be seen. */
export function useUsual(names: readonly string[]): ReadonlyMap<string, Usual> {
  const asked = [...new Set(names)].sort().slice(0, MOST);
  const mayRead = useMay("metrics:read");
  const found = useQuery({
    enabled: mayRead && asked.length > 0,
    queryKey: ["usual", asked],
    queryFn: ({ signal }) => call("GET /api/v1/stats/durations", { query: { name: asked, last: "7d" }, signal }),
    staleTime: KEPT_MS,
  });
  return usualOf(found.data?.items ?? []);
}

/** Fewer runs than this say nothing of what is usual. */
const FEWEST = 5;

export function usualOf(items: readonly UsualDurations[]): Map<string, Usual> {
  const known = new Map<string, Usual>();
  for (const { name, runs, run_p50: p50, run_p95: p95 } of items) {
    if (runs >= FEWEST && p50 !== null && p95 !== null) known.set(name, { runs, p50, p95 });
  }
  return known;
}
