import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { StatsBody } from "@/api/types";
import { Chart } from "@/parts/Chart";
import { Unloaded } from "@/parts/States";
import { span } from "@/parts/time";
import css from "./Overview.module.css";

export const RANGES = ["15m", "1h", "6h", "24h", "7d"] as const;
export type Range = (typeof RANGES)[number];

/** Figures over time, of one queue or of all. */
export function useStats(last: Range, queue?: string, enabled = true) {
  return useQuery({
    enabled,
    queryKey: ["stats", last, queue ?? null],
    queryFn: ({ signal }) => call("GET /api/v1/stats", { query: { last, queue }, signal }),
    refetchInterval: every(10_000),
  });
}

interface Props {
  last: Range;
  queue: string | undefined;
  /** The queues to choose from. */
  queues: string[];
  onQueue: (queue: string | undefined) => void;
}

/** The charts, and of which queue they are. */
export function Charts({ last, queue, queues, onQueue }: Props) {
  const stats = useStats(last, queue);
  const names = [...new Set(queue ? [...queues, queue] : queues)].sort();
  return (
    <section className={css.over} aria-label="Over time">
      <label className={css.which}>
        Charts of
        <select value={queue ?? ""} onChange={(event) => onQueue(event.target.value || undefined)}>
          <option value="">all queues</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {stats.data === undefined ? <Unloaded of={stats} /> : <Figures stats={stats.data} queue={queue} />}
    </section>
  );
}

/** What a queue, or all of them, did over time. */
function Figures({ stats, queue }: { stats: StatsBody; queue: string | undefined }) {
  const times = stats.points.map((point) => point.at);
  // The last bucket is still being filled: what is in it came in less time.
  const filled = (Date.parse(stats.until) - Date.parse(times.at(-1) ?? stats.until)) / 1000;
  const rate = (count: number, place: number) =>
    count / (place === times.length - 1 ? Math.max(1, filled) : stats.step);
  const ended = stats.points.map((point) => point.completed + point.failed);
  return (
    <div className={css.charts}>
      <Chart
        title="Tasks per second"
        times={times}
        format={numberText}
        lines={(["submitted", "completed", "failed"] as const).map((name) => ({
          name,
          tone: name === "submitted" ? "queued" : name,
          values: stats.points.map((point, place) => rate(point[name], place)),
        }))}
      />
      <Chart
        title="Tasks waiting"
        times={times}
        format={numberText}
        aside={
          <Link to="/tasks" search={{ status: "queued", ...(queue ? { queue } : {}) }}>
            Waiting now
          </Link>
        }
        lines={[{ name: "due, not yet running", tone: "queued", values: stats.points.map((point) => point.depth) }]}
      />
      <Chart
        title="Failure rate"
        times={times}
        format={(value) => `${Number.isInteger(value) ? value : value.toFixed(1)} %`}
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
        title="Wait time"
        times={times}
        format={span}
        lines={[
          { name: "p50", tone: "queued", values: stats.points.map((point) => point.wait_p50) },
          { name: "p95", tone: "cancelled", values: stats.points.map((point) => point.wait_p95) },
        ]}
      />
      <Chart
        title="Run time"
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

function numberText(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 1 ? 2 : 1);
}
