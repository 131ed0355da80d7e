import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every, useRefreshOn } from "@/api/queries";
import type { QueueBody, StatsBody } from "@/api/types";
import { Chart } from "@/parts/Chart";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Loading, Trouble } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Tabs } from "@/parts/Tabs";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { healthOf } from "./health";
import css from "./Overview.module.css";

const RANGES = ["15m", "1h", "6h", "24h", "7d"] as const;

/** How it is going: one sentence, then the figures behind it. */
export function Overview() {
  const asked = useSearch({ from: "/overview" }).last;
  const last = RANGES.find((range) => range === asked) ?? "15m";
  const navigate = useNavigate();
  const stats = useQuery({
    queryKey: ["stats", last],
    queryFn: ({ signal }) => call("GET /api/v1/stats", { query: { last }, signal }),
    refetchInterval: every(10_000),
  });
  const queues = useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /api/v1/queues", { signal }),
    refetchInterval: every(5_000),
  });
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn("drumline.", [["queues"], ["stats", last]], 3_000);
  const health = healthOf(queues.data?.items ?? [], workers.data?.items ?? [], stats.data);
  return (
    <div className={css.screen}>
      <ScreenHead title="Overview">
        <Tabs
          label="Time range"
          tabs={RANGES.map((range) => ({ id: range, label: range }))}
          current={last}
          onChange={(range) => void navigate({ to: "/overview", search: { last: range }, replace: true })}
        />
      </ScreenHead>
      {queues.data && workers.data && (
        <p className={css.health} data-tone={health.tone} role="status">
          {health.text}
        </p>
      )}
      {queues.data && workers.data && <Numbers queues={queues.data.items} workers={workers.data.items.length} />}
      {stats.isPending ? (
        <Loading />
      ) : stats.isError ? (
        <Trouble error={stats.error} onRetry={() => void stats.refetch()} />
      ) : (
        <Charts stats={stats.data} />
      )}
      {queues.isError ? <Trouble error={queues.error} /> : queues.data && <Waiting queues={queues.data.items} />}
    </div>
  );
}

function Numbers({ queues, workers }: { queues: QueueBody[]; workers: number }) {
  const sum = (field: "queued" | "pending" | "processing") => queues.reduce((total, queue) => total + queue[field], 0);
  return (
    <ul className={css.numbers}>
      <Figure to={{ status: "queued" }} label="waiting to run" value={sum("queued")} />
      <Figure to={{ status: "processing" }} label="running" value={sum("processing")} />
      <Figure to={{ status: "pending" }} label="due later" value={sum("pending")} />
      <li>
        <Link to="/workers">
          <strong>{workers}</strong> worker{workers === 1 ? "" : "s"}
        </Link>
      </li>
    </ul>
  );
}

function Figure({ to, label, value }: { to: { status: string }; label: string; value: number }) {
  return (
    <li>
      <Link to="/tasks" search={to}>
        <strong>{value.toLocaleString("en")}</strong> {label}
      </Link>
    </li>
  );
}

function Charts({ stats }: { stats: StatsBody }) {
  const times = stats.points.map((point) => point.at);
  // The last bucket is still being filled: what is in it came in less time.
  const filled = (Date.parse(stats.until) - Date.parse(times.at(-1) ?? stats.until)) / 1000;
  const rate = (count: number, place: number) =>
    count / (place === times.length - 1 ? Math.max(1, filled) : stats.step);
  const ended = stats.points.map((point) => point.completed + point.failed);
  return (
    <div className={css.charts}>
      <Chart
        title="Ended per second"
        times={times}
        stacked
        format={(value) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value < 1 ? 2 : 1))}
        lines={[
          {
            name: "completed",
            tone: "completed",
            values: stats.points.map((point, place) => rate(point.completed, place)),
          },
          { name: "failed", tone: "failed", values: stats.points.map((point, place) => rate(point.failed, place)) },
        ]}
      />
      <Chart
        title="Share that failed"
        times={times}
        format={(value) => `${value.toFixed(1)} %`}
        lines={[
          {
            name: "failed",
            tone: "failed",
            values: stats.points.map((point, place) =>
              ended[place] ? (100 * point.failed) / (ended[place] ?? 1) : null,
            ),
          },
        ]}
      />
      <Chart
        title="Waiting time"
        times={times}
        format={span}
        lines={[
          { name: "p50", tone: "queued", values: stats.points.map((point) => point.wait_p50) },
          { name: "p95", tone: "cancelled", values: stats.points.map((point) => point.wait_p95) },
        ]}
      />
      <Chart
        title="Running time"
        times={times}
        format={span}
        lines={[
          { name: "p50", tone: "processing", values: stats.points.map((point) => point.run_p50) },
          { name: "p95", tone: "cancelled", values: stats.points.map((point) => point.run_p95) },
        ]}
      />
    </div>
  );
}

function Waiting({ queues }: { queues: QueueBody[] }) {
  const busy = queues.filter((queue) => queue.queued > 0 || queue.is_paused).sort((a, b) => b.queued - a.queued);
  if (busy.length === 0) return null;
  return (
    <Panel title="Queues that have work waiting" flush>
      <Table head={["Queue", "Waiting", "Oldest", "State"]}>
        {busy.slice(0, 10).map((queue) => (
          <tr key={`${queue.tenant}/${queue.name}`}>
            <th scope="row">
              <Link to="/tasks" search={{ queue: queue.name, status: "queued" }}>
                {queue.name}
              </Link>
            </th>
            <td>{queue.queued.toLocaleString("en")}</td>
            <td>
              <Time at={queue.oldest_due_at} as="relative" />
            </td>
            <td>{queue.is_paused ? `Paused${queue.reason ? `: ${queue.reason}` : ""}` : "Open"}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
