import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { QueueBody } from "@/api/types";
import { Mark } from "@/parts/Mark";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Sparkline } from "@/parts/Sparkline";
import { Empty, Unloaded } from "@/parts/States";
import { type Sortable, useSorted } from "@/parts/sorting";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import { texts } from "@/texts";
import { Limits } from "./Limits";
import { PauseButton } from "./PauseButton";
import css from "./Queues.module.css";

const ACTS = ["queue.pause", "queue.resume", "limit.set", "limit.delete"];
/** Queues whose last hour is drawn: each takes a request. */
const MOST_DRAWN = 30;
/** Minutes that one bar is about. */
const BAR = 5;

const COLUMNS: Sortable<QueueBody>[] = [
  { name: texts.common.queue, by: (queue) => queue.name },
  { name: texts.common.queued, by: (queue) => queue.queued },
  { name: texts.common.pending, by: (queue) => queue.pending },
  { name: texts.common.processing, by: (queue) => queue.processing },
  { name: texts.queues.oldestDue, by: (queue) => queue.oldest_due_at },
  { name: texts.common.state, by: (queue) => Number(queue.is_paused) },
];
const NONE: QueueBody[] = [];

function keyOf(queue: QueueBody): string {
  return `${queue.tenant}/${queue.name}`;
}

export function Queues() {
  const queues = useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /api/v1/queues", { signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(ofTypes("drumline.task.", "drumline.queue."), [["queues"]], 2_000);
  const { shown, ...sorting } = useSorted(queues.data?.items ?? NONE, COLUMNS, keyOf);
  useRemembered(
    "/queues",
    shown.map(({ name }) => name),
  );
  const hours = useLastHour(queues.data?.items.map(({ name }) => name) ?? []);
  return (
    <>
      <ScreenHead title={texts.common.queues} />
      {queues.data === undefined ? (
        <Unloaded of={queues} />
      ) : queues.data.items.length === 0 ? (
        <Empty title={texts.queues.noQueuesYet}>
          <p>{texts.queues.aQueueAppearsWhenTasks}</p>
        </Empty>
      ) : (
        <Panel flush label={texts.common.queues}>
          <Table
            sorting={{ columns: COLUMNS, ...sorting }}
            head={[
              texts.common.queue,
              texts.common.queued,
              texts.common.pending,
              texts.common.processing,
              texts.queues.oldestDue,
              texts.common.state,
              texts.queues.lastHour,
              "",
            ]}
          >
            {shown.map((queue) => (
              <tr key={keyOf(queue)}>
                <th scope="row">
                  <Link to="/queues/$name" params={{ name: queue.name }}>
                    {queue.name}
                  </Link>
                </th>
                <Count queue={queue.name} status="queued" of={queue.queued} />
                <Count queue={queue.name} status="pending" of={queue.pending} />
                <Count queue={queue.name} status="processing" of={queue.processing} />
                <td className={css.state}>
                  <Time at={queue.oldest_due_at} as="relative" />
                  {queue.unserved > 0 && <Mark tone="warn">{texts.queues.unserved(queue.unserved)}</Mark>}
                </td>
                <td className={css.state}>
                  {queue.is_paused ? (
                    <Mark tone="warn">{texts.common.pausedBecause(queue.reason)}</Mark>
                  ) : (
                    <Mark tone="good">{texts.common.open}</Mark>
                  )}
                </td>
                <td>
                  <Link to="/overview" search={{ queue: queue.name }}>
                    <LastHour name={queue.name} counts={hours.get(queue.name)} />
                  </Link>
                </td>
                <td>
                  <span>
                    <PauseButton queue={queue} />
                  </span>
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <div className={css.limits}>
        <Limits />
        <RecentChanges of="queues" acts={ACTS} />
      </div>
    </>
  );
}

function Count({ queue, status, of }: { queue: string; status: string; of: number }) {
  return (
    <td data-label={status}>
      {of > 0 ? (
        <Link to="/tasks" search={{ queue, status }}>
          {of.toLocaleString("en")}
        </Link>
      ) : (
        "0"
      )}
    </td>
  );
}

/** How many tasks of some queues ended in the last hour, bar by bar. */
function useLastHour(names: readonly string[]): ReadonlyMap<string, number[]> {
  const drawn = names.slice(0, MOST_DRAWN);
  const found = useQueries({
    queries: drawn.map((name) => ({
      queryKey: ["stats", "1h", name, null],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call("GET /api/v1/stats", { query: { last: "1h", queue: name }, signal }),
      refetchInterval: every(60_000),
    })),
  });
  return new Map(
    drawn.flatMap((name, place) => {
      const points = found[place]?.data?.points;
      return points ? [[name, barsOf(points.map((point) => point.completed + point.failed))] as const] : [];
    }),
  );
}

/** Counts by minute as counts by bar; the last bar is whole. */
function barsOf(counts: readonly number[]): number[] {
  const bars: number[] = [];
  for (let end = counts.length; end > 0; end -= BAR) {
    bars.unshift(counts.slice(Math.max(0, end - BAR), end).reduce((sum, count) => sum + count, 0));
  }
  return bars;
}

function LastHour({ name, counts }: { name: string; counts: number[] | undefined }) {
  if (!counts) return texts.queues.charts;
  const total = counts.reduce((sum, count) => sum + count, 0);
  return (
    <span className={css.hour}>
      <Sparkline counts={counts} tone="completed" label={texts.queues.chartsOf(name, total)} />
      <span aria-hidden="true">{total.toLocaleString("en")}</span>
    </span>
  );
}
