import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { call } from "@/api/client";
import type { LiveEvent } from "@/api/live";
import { useLive } from "@/api/queries";
import type { Status, TaskBody, TaskList } from "@/api/types";
import type { TaskSearch } from "@/search";

const PAGE = 100;

export function queryFor(search: TaskSearch) {
  return {
    status: search.status ? (search.status.toUpperCase().split(",") as Status[]) : undefined,
    queue: search.queue,
    name: search.name,
    tag: search.tag,
    idempotency_key: search.key,
    worker: search.worker,
  };
}

/** Tasks, newest first. What is shown changes in place; what is new is only counted until somebody asks for it. */
export function useTasks(search: TaskSearch) {
  const client = useQueryClient();
  const key = useMemo(() => ["tasks", search] as const, [search]);
  const [fresh, setFresh] = useState(0);
  const pages = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/tasks", { query: { ...queryFor(search), limit: PAGE, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY, // the list stays as it is until it is asked for anew
  });

  const refresh = useCallback(() => {
    setFresh(0);
    return client.resetQueries({ queryKey: key });
  }, [client, key]);

  const look = useCallback(async () => {
    const newest = await call("GET /api/v1/tasks", { query: { ...queryFor(search), limit: PAGE } });
    const known = new Map(newest.items.map((task) => [task.id, task]));
    const shown = client.getQueryData<InfiniteData<TaskList>>(key);
    if (!shown) return;
    const ids = new Set(shown.pages.flatMap((page) => page.items.map((task) => task.id)));
    setFresh(newest.items.filter((task) => !ids.has(task.id)).length);
    client.setQueryData<InfiniteData<TaskList>>(key, {
      ...shown,
      pages: shown.pages.map((page) => ({ ...page, items: page.items.map((task) => known.get(task.id) ?? task) })),
    });
  }, [client, key, search]);

  const hear = useThrottled(
    useCallback(
      (events: LiveEvent[]) => {
        if (events.length === 0 || events.some((event) => event.type.startsWith("drumline.task."))) {
          look().catch(() => undefined); // the page says by itself when the server is away
        }
      },
      [look],
    ),
  );
  useLive(hear);

  const items = useMemo<TaskBody[]>(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data]);
  return { pages, items, fresh, refresh };
}

/** At most one call in a second: the last one always comes. */
function useThrottled(act: (events: LiveEvent[]) => void): (events: LiveEvent[]) => void {
  return useMemo(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let last = 0;
    return (events: LiveEvent[]) => {
      timer ??= setTimeout(
        () => {
          timer = null;
          last = Date.now();
          act(events);
        },
        Math.max(0, last + 1_000 - Date.now()),
      );
    };
  }, [act]);
}
