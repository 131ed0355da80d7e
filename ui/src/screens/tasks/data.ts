import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { call } from "@/api/client";
import type { LiveEvent } from "@/api/live";
import { ofTypes, useLive, useRefreshOn } from "@/api/queries";
import type { Status, TaskBody, TaskList } from "@/api/types";
import { spanOf, type TaskSearch } from "@/search";

const FIRST_PAGE = 100;
const NEXT_PAGE = 500;
/** Bytes of the largest payload that the list shows. */
const LARGEST_PAYLOAD = 2_048;

/** What narrows besides the status. What is lately is counted back from now: it must not be part of a key. */
export function narrowingOf(search: TaskSearch, now = Date.now()) {
  return {
    finished_since: search.ended === undefined ? undefined : sinceOf(search.ended, now),
    since: search.since === undefined ? undefined : sinceOf(search.since, now),
    queue: search.queue,
    name: search.name,
    tag: search.tag,
    idempotency_key: search.key,
    worker: search.worker,
    job: search.job,
    filter: search.filter,
  };
}

export function sinceOf(text: string, now: number): string {
  const span = spanOf(text);
  return span === null ? text : new Date(now - span).toISOString(); // what is no span the server refuses, in words
}

export function statusesOf(search: TaskSearch): Status[] | undefined {
  return search.status ? (search.status.toUpperCase().split(",") as Status[]) : undefined;
}

export function queryFor(search: TaskSearch) {
  return { status: statusesOf(search), ...narrowingOf(search) };
}

/** Tasks, newest first. What is shown changes in place; what is new is only counted until somebody asks for it. */
export function useTasks(search: TaskSearch, withPayload = false) {
  const client = useQueryClient();
  const text = JSON.stringify(search);
  const asked = useMemo(() => JSON.parse(text) as TaskSearch, [text]);
  const key = useMemo(() => ["tasks", "list", asked, withPayload] as const, [asked, withPayload]);
  const [fresh, setFresh] = useState(0);
  const pages = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/tasks", {
        query: {
          ...queryFor(asked),
          limit: pageParam ? NEXT_PAGE : FIRST_PAGE,
          cursor: pageParam,
          payload_up_to: withPayload ? LARGEST_PAYLOAD : undefined,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY, // the list stays as it is until it is asked for anew
    refetchOnMount: "always",
    refetchOnWindowFocus: false,
  });

  const refresh = useCallback(() => {
    setFresh(0);
    return client.resetQueries({ queryKey: key });
  }, [client, key]);

  const look = useCallback(
    async (events: LiveEvent[]) => {
      const newest = await call("GET /api/v1/tasks", { query: { ...queryFor(asked), limit: FIRST_PAGE } });
      const shown = client.getQueryData<InfiniteData<TaskList>>(key);
      if (!shown) return;
      const ids = new Set<string>();
      for (const page of shown.pages) for (const task of page.items) ids.add(task.id);
      setFresh(newest.items.filter((task) => !ids.has(task.id)).length);
      client.setQueryData<InfiniteData<TaskList>>(key, { ...shown, pages: brought(shown.pages, newest.items, events) });
    },
    [client, key, asked],
  );

  useLive(
    useThrottled(
      useCallback(
        (events: LiveEvent[]) => {
          if (events.length === 0 || events.some((event) => event.type.startsWith("drumline.task."))) {
            look(events).catch(() => undefined); // the page says by itself when the server is away
          }
        },
        [look],
      ),
    ),
  );

  const items = useMemo<TaskBody[]>(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data]);
  return { pages, items, fresh, refresh };
}

/** How many tasks there are in each status, as far as they were counted. */
export function useCounts(search: TaskSearch): Record<string, string> {
  const { status: _status, ...narrowing } = search;
  const counts = useQuery({
    queryKey: ["tasks", "counts", narrowing],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/counts", { query: narrowingOf(narrowing), signal }),
    placeholderData: keepPreviousData,
  });
  useRefreshOn(ofTypes("drumline.task."), [["tasks", "counts"]], 2_500);
  return Object.fromEntries(
    (counts.data?.items ?? []).map((one) => [
      one.status.toLowerCase(),
      `${one.count.toLocaleString("en")}${one.is_more ? "+" : ""}`,
    ]),
  );
}

/** Pages with what is known to be newer: tasks read again, and else the status that an event tells. */
export function brought(pages: TaskList[], newer: TaskBody[], events: LiveEvent[]): TaskList[] {
  const known = new Map(newer.map((task) => [task.id, task])); // read without payloads
  const told = new Map(
    events.filter((event) => event.type.startsWith("drumline.task.")).map((event) => [event.subject, event.data]),
  );
  return pages.map((page) => {
    let isChanged = false;
    const items = page.items.map((task) => {
      const data = told.get(task.id);
      const again = known.get(task.id);
      const next = again
        ? withPayloadOf(task, again)
        : data && data.status !== task.status
          ? { ...task, ...standing(data) }
          : task;
      isChanged ||= next !== task;
      return next;
    });
    return isChanged ? { ...page, items } : page;
  });
}

function withPayloadOf(task: TaskBody, again: TaskBody): TaskBody {
  return task.payload === undefined ? again : { ...again, payload: task.payload };
}

function standing(data: Record<string, unknown>): Partial<TaskBody> {
  const fields = ["status", "attempt", "started_at", "finished_at", "error"] as const;
  return Object.fromEntries(fields.flatMap((field) => (data[field] === undefined ? [] : [[field, data[field]]])));
}

/** At most one call in a second, with all events since the last one; the last call always comes. */
function useThrottled(act: (events: LiveEvent[]) => void): (events: LiveEvent[]) => void {
  return useMemo(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let last = 0;
    let gathered: LiveEvent[] = [];
    return (events: LiveEvent[]) => {
      gathered = gathered.concat(events);
      timer ??= setTimeout(
        () => {
          const all = gathered;
          timer = null;
          gathered = [];
          last = Date.now();
          act(all);
        },
        Math.max(0, last + 1_000 - Date.now()),
      );
    };
  }, [act]);
}
