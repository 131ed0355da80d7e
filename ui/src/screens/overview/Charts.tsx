import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ZoomOut } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { StatsBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Chart, type Mark, niceTime, placedMarks, type Shared } from "@/parts/Chart";
import { plain, Select } from "@/parts/Select";
import { Unloaded } from "@/parts/States";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { texts } from "@/texts";
import { useMarks } from "./marks";
import css from "./Overview.module.css";

export const RANGES = ["15m", "1h", "6h", "24h", "7d"] as const;
export type Range = (typeof RANGES)[number];

/** Figures over time, of one queue or of all. */
export function useStats(last: Range, queue?: string, enabled = true, name?: string) {
  return useQuery({
    enabled,
    queryKey: ["stats", last, queue ?? null, name ?? null],
    queryFn: ({ signal }) => call("GET /api/v1/stats", { query: { last, queue, name }, signal }),
    refetchInterval: every(10_000),
  });
}

interface Props {
  last: Range;
  queue: string | undefined;
  /** The queues to choose from. */
  queues: string[];
  onQueue: (queue: string | undefined) => void;
  /** The stretch of time that is looked at, if it is not all. */
  zoom: Zoom | null;
  onZoom: (zoom: Zoom | null) => void;
}

export interface Zoom {
  from: string;
  until: string;
}

/** The charts, and of which queue they are. */
export function Charts({ last, queue, queues, onQueue, zoom, onZoom }: Props) {
  const [at, setAt] = useState<string | null>(null);
  const shared: Shared = { at, onAt: setAt, onZoom: (from, until) => onZoom({ from, until }) };
  const stats = useStats(last, queue);
  const marks = useMarks(queue ? { queues: [queue] } : {});
  const shown = stats.data && within(stats.data, zoom);
  const names = [...new Set(queue ? [...queues, queue] : queues)].sort();
  return (
    <section className={css.over} aria-label={texts.overview.overTime}>
      <div className={css.which}>
        <label>
          {texts.overview.chartsOf}{" "}
          <Select
            value={queue ?? ""}
            choices={[{ value: "", label: texts.overview.allQueues }, ...plain(names)]}
            onChange={(chosen) => onQueue(chosen || undefined)}
          />
        </label>
        {zoom ? (
          <Button icon={ZoomOut} onClick={() => onZoom(null)}>
            {texts.overview.resetZoom}
          </Button>
        ) : (
          <span className={css.how}>{texts.overview.dragOverAChartTo}</span>
        )}
      </div>
      {shown === undefined ? (
        <Unloaded of={stats} />
      ) : (
        <>
          <Figures stats={shown} queue={queue} shared={shared} marks={marks} />
          <Marks marks={marks} times={shown.points.map((point) => point.at)} />
        </>
      )}
    </section>
  );
}

interface ChartsOfOneProps {
  stats: StatsBody;
  queue?: string;
  name?: string;
  marks: readonly Mark[];
}

/** The charts of one queue or type: the pointer marks the same time in all of them, and a stretch of it can be zoomed in. */
export function ChartsOfOne({ stats, marks, ...of }: ChartsOfOneProps) {
  const [at, setAt] = useState<string | null>(null);
  const [zoom, setZoom] = useState<Zoom | null>(null);
  const shared: Shared = { at, onAt: setAt, onZoom: (from, until) => setZoom({ from, until }) };
  const shown = within(stats, zoom);
  return (
    <section className={css.over} aria-label={texts.overview.overTime}>
      {zoom && (
        <div className={css.which}>
          <Button icon={ZoomOut} onClick={() => setZoom(null)}>
            {texts.overview.resetZoom}
          </Button>
        </div>
      )}
      <Figures stats={shown} {...of} shared={shared} marks={marks} />
      <Marks marks={marks} times={shown.points.map((point) => point.at)} />
    </section>
  );
}

const MOST_MARKS = 6;

/** What the charts are marked with, in words. */
function Marks({ marks, times }: { marks: readonly Mark[]; times: string[] }) {
  const found = placedMarks(marks, times).slice(-MOST_MARKS);
  if (found.length === 0) return null;
  return (
    <ul className={css.marks} aria-label={texts.overview.markedInTheCharts}>
      {found.map(({ mark }) => (
        <li key={`${mark.at}${mark.text}`} data-kind={mark.kind}>
          <i aria-hidden="true" /> <Time at={mark.at} /> {mark.text}
        </li>
      ))}
    </ul>
  );
}

interface FiguresProps {
  stats: StatsBody;
  queue?: string | undefined;
  /** The type that they are about, if they are of one. */
  name?: string | undefined;
  shared?: Shared;
  marks?: readonly Mark[];
}

/** What a queue, a type, or all of them, did over time. */
function Figures({ stats, queue, name, shared, marks = [] }: FiguresProps) {
  const linked = shared ? { shared, marks } : { marks };
  const times = stats.points.map((point) => point.at);
  // The last bucket is still being filled: what is in it came in less time.
  const filled = (Date.parse(stats.until) - Date.parse(times.at(-1) ?? stats.until)) / 1000;
  const rate = (count: number, place: number) =>
    count / (place === times.length - 1 ? Math.max(1, Math.min(filled, stats.step)) : stats.step);
  const ended = stats.points.map((point) => point.completed + point.failed);
  return (
    <div className={css.charts}>
      <Chart
        title={texts.overview.tasksPerSecond}
        times={times}
        {...linked}
        format={numberText}
        lines={(["submitted", "completed", "failed"] as const).map((name) => ({
          name,
          tone: name === "submitted" ? "queued" : name,
          values: stats.points.map((point, place) => rate(point[name], place)),
        }))}
      />
      <Chart
        title={texts.overview.tasksWaiting}
        times={times}
        {...linked}
        format={numberText}
        aside={
          <Link to="/tasks" search={{ status: "queued", ...(queue ? { queue } : {}), ...(name ? { name } : {}) }}>
            {texts.overview.waitingNow}
          </Link>
        }
        lines={[
          { name: texts.overview.dueNotYetRunning, tone: "queued", values: stats.points.map((point) => point.depth) },
        ]}
      />
      <Chart
        title={texts.overview.failureRate}
        times={times}
        {...linked}
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
        title={texts.overview.waitTime}
        times={times}
        {...linked}
        format={span}
        topOf={niceTime}
        lines={[
          { name: "p50", tone: "queued", values: stats.points.map((point) => point.wait_p50) },
          { name: "p95", tone: "cancelled", values: stats.points.map((point) => point.wait_p95) },
        ]}
      />
      <Chart
        title={texts.overview.runTime}
        times={times}
        {...linked}
        format={span}
        topOf={niceTime}
        lines={[
          { name: "p50", tone: "processing", values: stats.points.map((point) => point.run_p50) },
          { name: "p95", tone: "cancelled", values: stats.points.map((point) => point.run_p95) },
        ]}
      />
    </div>
  );
}

/** The figures of a stretch of time; all of them if it has fewer than two. */
function within(stats: StatsBody, zoom: Zoom | null): StatsBody {
  if (!zoom) return stats;
  const points = stats.points.filter(({ at }) => at >= zoom.from && at <= zoom.until);
  return points.length < 2 ? stats : { ...stats, points };
}

function numberText(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 1 ? 2 : 1);
}
