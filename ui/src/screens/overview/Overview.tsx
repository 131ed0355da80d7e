import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { CircleCheck, OctagonAlert, TriangleAlert } from "lucide-react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { QueueBody, StatsBody, WorkerBody } from "@/api/types";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Tabs } from "@/parts/Tabs";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { workerName } from "@/parts/worker";
import { texts } from "@/texts";
import { Charts, RANGES, useStats } from "./Charts";
import { FiringAlerts } from "./FiringAlerts";
import { GetStarted } from "./GetStarted";
import { healthOf } from "./health";
import { LateSchedules } from "./LateSchedules";
import css from "./Overview.module.css";
import { TopFailures } from "./TopFailures";

const SIGNS = { good: CircleCheck, warn: TriangleAlert, bad: OctagonAlert };

/** How it is going: one sentence, then the figures behind it. */
export function Overview() {
  const { last: asked, queue, from, until } = useSearch({ from: "/overview" });
  const last = RANGES.find((range) => range === asked) ?? "15m";
  const navigate = useNavigate();
  const go = (range: string, name: string | undefined) =>
    void navigate({ to: "/overview", search: { last: range, ...(name ? { queue: name } : {}) }, replace: true });
  const maySeeStats = useMay("metrics:read");
  const maySeeSchedules = useMay("schedules:read");
  const maySeeFailures = useMay("tasks:read");
  const maySubmit = useMay("tasks:submit");
  const maySeeWorkers = useMay("workers:read");
  const stats = useStats(last, undefined, maySeeStats);
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
  useRefreshOn(ofTypes("drumline.task.", "drumline.queue."), [["queues"], ["stats", last]], 3_000);
  const health = healthOf(queues.data?.items ?? [], workers.data?.items ?? [], stats.data);
  const Sign = SIGNS[health.tone];
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.overview.overview}>
        <Tabs
          label={texts.common.timeRange}
          tabs={RANGES.map((range) => ({ id: range, label: range }))}
          current={last}
          onChange={(range) => go(range, queue)}
        />
      </ScreenHead>
      {queues.data && workers.data && (
        <p className={css.health} data-tone={health.tone} role="status">
          <Sign size={18} aria-hidden="true" />
          {health.queue ? (
            <Link to="/tasks" search={{ queue: health.queue, status: "queued" }}>
              {health.text}
            </Link>
          ) : (
            health.text
          )}
        </p>
      )}
      <FiringAlerts />
      {queues.data && workers.data && (
        <Numbers queues={queues.data.items} workers={workers.data.items} stats={stats.data} last={last} />
      )}
      {queues.data?.items.length === 0 && maySubmit && <GetStarted />}
      {maySeeStats && (
        <Charts
          last={last}
          queue={queue}
          queues={queues.data?.items.map((one) => one.name) ?? []}
          onQueue={(name) => go(last, name)}
          zoom={from && until ? { from, until } : null}
          onZoom={(zoom) =>
            void navigate({ to: "/overview", search: { last, ...(queue ? { queue } : {}), ...zoom }, replace: true })
          }
        />
      )}
      <div className={css.panels}>
        {queues.data ? <Waiting queues={queues.data.items} /> : <Unloaded of={queues} rows={3} />}
        {maySeeFailures && <TopFailures />}
        {maySeeSchedules && <LateSchedules />}
        {!maySeeWorkers ? null : workers.data ? (
          <Fleet workers={workers.data.items} />
        ) : (
          <Unloaded of={workers} rows={3} />
        )}
      </div>
    </div>
  );
}

interface NumbersProps {
  queues: QueueBody[];
  workers: WorkerBody[];
  stats: StatsBody | undefined;
  last: string;
}

function Numbers({ queues, workers, stats, last }: NumbersProps) {
  const sum = (field: "queued" | "pending" | "processing") => queues.reduce((total, queue) => total + queue[field], 0);
  const count = (field: "completed" | "failed") => stats?.points.reduce((total, point) => total + point[field], 0);
  const held = workers.reduce((total, worker) => total + worker.held, 0);
  const slots = workers.reduce((total, worker) => total + worker.capacity, 0);
  return (
    <ul className={css.numbers}>
      <Figure to={{ status: "queued" }} label={texts.overview.waitingToRun} value={sum("queued")} />
      <Figure to={{ status: "processing" }} label={texts.overview.running} value={sum("processing")} />
      <Figure
        to={{ status: "pending" }}
        label={texts.overview.pending}
        value={sum("pending")}
        title={texts.overview.dueLaterOrWaitingFor}
      />
      <Figure
        to={{ status: "completed", ended: last }}
        label={texts.overview.completedInLast(last)}
        value={count("completed")}
      />
      <Figure
        to={{ status: "failed", ended: last }}
        label={texts.overview.failedInLast(last)}
        value={count("failed")}
      />
      <li>
        <Link to="/workers">
          <TextWith
            text={texts.overview.workersBusy(workers.length, held, slots)}
            values={{ count: <strong>{workers.length}</strong> }}
          />
        </Link>
      </li>
    </ul>
  );
}

interface FigureProps {
  to: { status: string; ended?: string };
  label: string;
  value: number | undefined;
  title?: string;
}

function Figure({ to, label, value, title }: FigureProps) {
  return (
    <li>
      <Link to="/tasks" search={to} title={title}>
        <strong>{value?.toLocaleString("en") ?? "–"}</strong> {label}
      </Link>
    </li>
  );
}

function Waiting({ queues }: { queues: QueueBody[] }) {
  const busy = queues.filter((queue) => queue.queued > 0 || queue.is_paused).sort((a, b) => b.queued - a.queued);
  return (
    <Panel
      title={texts.overview.queuesWithWorkWaiting}
      aside={<Link to="/queues">{texts.overview.allQueuesOther}</Link>}
      flush
    >
      {busy.length === 0 && <p className={css.none}>{texts.overview.noTasksAreWaiting}</p>}
      {busy.length > 0 && (
        <Table head={[texts.common.queue, texts.overview.waiting, texts.overview.oldest, texts.common.state]}>
          {busy.slice(0, 6).map((queue) => (
            <tr key={`${queue.tenant}/${queue.name}`}>
              <th scope="row">
                <Link to="/queues/$name" params={{ name: queue.name }}>
                  {queue.name}
                </Link>
              </th>
              <td>{queue.queued.toLocaleString("en")}</td>
              <td>
                <Time at={queue.oldest_due_at} as="relative" />
              </td>
              <td className={css.state}>
                {queue.is_paused ? (
                  <Mark tone="warn">{texts.common.pausedBecause(queue.reason)}</Mark>
                ) : (
                  <Mark tone="good">{texts.common.open}</Mark>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** The busiest workers. */
function Fleet({ workers }: { workers: WorkerBody[] }) {
  const shown = [...workers].sort((a, b) => b.held / b.capacity - a.held / a.capacity).slice(0, 6);
  return (
    <Panel title={texts.common.workers} aside={<Link to="/workers">{texts.overview.allWorkers}</Link>} flush>
      {shown.length === 0 ? (
        <p className={css.none}>{texts.overview.noWorkerIsRunning}</p>
      ) : (
        <Table head={[texts.common.worker, texts.overview.slotsBusy, texts.overview.lastHeartbeat, texts.common.state]}>
          {shown.map((worker) => (
            <tr key={worker.id}>
              <th scope="row">
                <Link to="/workers/$id" params={{ id: worker.id }}>
                  {workerName(worker)}
                </Link>
              </th>
              <td>{texts.parts.ofAll(worker.held, worker.capacity)}</td>
              <td>
                <Time at={worker.beat_at} as="relative" />
              </td>
              <td>
                {worker.should_drain ? (
                  <Mark tone="warn">{texts.common.draining}</Mark>
                ) : (
                  <Mark tone="good">{texts.common.active}</Mark>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
