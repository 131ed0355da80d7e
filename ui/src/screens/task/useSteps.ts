import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import { about, every, useRefreshOn } from "@/api/queries";
import type { TaskBody } from "@/api/types";

const PAGE = 100;

/** What a durable task has done, as far as it was asked for, and what it waits for. */
export function useSteps(task: TaskBody, isEnded: boolean) {
  const query = useInfiniteQuery({
    queryKey: ["task", task.id, "steps"],
    queryFn: ({ signal, pageParam }) =>
      call("GET /api/v1/tasks/{id}/steps", {
        params: { id: task.id },
        query: { limit: PAGE, ...(pageParam ? { cursor: pageParam } : {}) },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: every(isEnded ? false : 3_000),
  });
  useRefreshOn(about(task.id), [["task", task.id, "steps"]]);
  const isWaiting = task.is_waiting;
  return useMemo(() => {
    const pages = query.data?.pages ?? [];
    const waits = isWaiting ? (pages.at(-1)?.waits ?? []) : [];
    return { query, items: pages.flatMap((page) => page.items), waits, rounds: pages[0]?.rounds ?? [] };
  }, [query, isWaiting]);
}
