import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { TaskBody } from "@/api/types";
import { useUsual } from "@/api/usual";
import { Panel } from "@/parts/Panel";
import { useTick } from "@/parts/Time";
import { span } from "@/parts/time";
import { Waterfall } from "@/parts/Waterfall";
import { texts } from "@/texts";
import { useSteps } from "./useSteps";
import { rowsOf } from "./waterfall";

const MOST_CHILDREN = 100;

/** Where a task's time went: its attempts with the waits before them, its steps and waits, and its children. */
export function Timeline({ task, isEnded }: { task: TaskBody; isEnded: boolean }) {
  const attempts = useQuery({
    queryKey: ["task", task.id, "attempts"],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}/attempts", { params: { id: task.id }, signal }),
    refetchInterval: every(isEnded ? false : 3_000),
  });
  const { items: steps, waits } = useSteps(task, isEnded);
  // Only what has recorded or waits for something can have children.
  const isDurable = steps.length > 0 || waits.length > 0;
  const children = useQuery({
    enabled: isDurable,
    queryKey: ["task", task.id, "children"],
    queryFn: ({ signal }) =>
      call("GET /api/v1/tasks/{id}/children", { params: { id: task.id }, query: { limit: MOST_CHILDREN }, signal }),
    refetchInterval: every(isEnded ? false : 3_000),
  });
  const usual = useUsual([task.name]).get(task.name);
  useTick(!isEnded);
  // A task that has not ended gets longer each second: it is drawn by the second, and nothing else is.
  const now = isEnded ? 0 : Math.floor(Date.now() / 1000) * 1000;
  const items = attempts.data?.items;
  const family = children.data?.items;
  const rows = useMemo(
    () =>
      items
        ? rowsOf(task, { attempts: items, steps, waits, children: family ?? [], usual: usual ?? null }, isEnded, now)
        : [],
    [task, items, steps, waits, family, usual, isEnded, now],
  );
  if (rows.length === 0) return null;
  return (
    <Panel title={texts.task.timeline} flush>
      <Waterfall
        label={texts.task.timelineOfTheTask}
        rows={rows}
        note={noteOf(task, children.data?.next_cursor ?? null)}
      />
    </Panel>
  );
}

function noteOf(task: TaskBody, more: string | null): string | undefined {
  if (more) return texts.task.firstChildren(MOST_CHILDREN);
  if (!task.finished_at) return undefined;
  return texts.task.inAll(span((Date.parse(task.finished_at) - Date.parse(task.created_at)) / 1000));
}
