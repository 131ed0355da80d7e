import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { TaskBody } from "@/api/types";
import { Panel } from "@/parts/Panel";
import { Time, useTick } from "@/parts/Time";
import { span } from "@/parts/time";
import css from "./Timeline.module.css";
import { type Stretch, stretchesOf } from "./timeline";

const KINDS = { delayed: "Delayed", waited: "Waited", ran: "Ran" };
const MOST = 12;

/** Where a task's time went: waiting for its turn, waiting in the queue, running. */
export function Timeline({ task, isEnded }: { task: TaskBody; isEnded: boolean }) {
  const attempts = useQuery({
    queryKey: ["task", task.id, "attempts"],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}/attempts", { params: { id: task.id }, signal }),
    refetchInterval: every(isEnded ? false : 3_000),
  });
  useTick(!isEnded);
  if (!attempts.data) return null;
  const stretches = stretchesOf(task, attempts.data.items, isEnded);
  if (stretches.length === 0) return null;
  const shown = stretches.slice(-MOST);
  return (
    <Panel label="Timeline">
      <div className={css.timeline}>
        <div className={css.bar} aria-hidden="true">
          {stretches.map((one) => (
            <i
              key={`${one.kind}${one.from}`}
              className={css[one.kind]}
              data-outcome={one.outcome}
              style={{ flexGrow: Math.max(1, one.to - one.from) }}
              title={wordsOf(one)}
            />
          ))}
        </div>
        <ol>
          {shown.length < stretches.length && <li>{stretches.length - shown.length} earlier</li>}
          {shown.map((one) => (
            <li key={`${one.kind}${one.from}`}>
              <span className={`${css.sign} ${css[one.kind]}`} data-outcome={one.outcome} aria-hidden="true" />
              {wordsOf(one)}
            </li>
          ))}
          {task.finished_at && (
            <li>
              ended <Time at={task.finished_at} />
            </li>
          )}
        </ol>
      </div>
    </Panel>
  );
}

function wordsOf({ kind, from, to, attempt, outcome }: Stretch): string {
  const took = span((to - from) / 1000);
  if (kind !== "ran") return `${KINDS[kind]} ${took}`;
  return outcome === "running" ? `Attempt ${attempt} runs for ${took}` : `Attempt ${attempt} ${outcome} after ${took}`;
}
