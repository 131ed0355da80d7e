import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { call } from "@/api/client";
import { about, every, useRefreshOn } from "@/api/queries";
import type { LimitBody, QueueDetails } from "@/api/types";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { Mark } from "@/parts/Mark";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { readSnippets } from "@/parts/snippets";
import { Table } from "@/parts/Table";
import { Tabs } from "@/parts/Tabs";
import { TaskTable } from "@/parts/TaskTable";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { ChartsOfOne, RANGES, type Range, useStats } from "@/screens/overview/Charts";
import { useMarks } from "@/screens/overview/marks";
import { rateOf as limitRate } from "@/screens/queues/limitRate";
import { PauseButton } from "@/screens/queues/PauseButton";
import css from "@/screens/type/Type.module.css";
import { texts } from "@/texts";

/** One queue: what waits, when it will be empty, which limits hold, and what runs. */
export function Queue() {
  const { name } = useParams({ from: "/queues/$name" });
  const { last: given } = useSearch({ from: "/queues/$name" });
  const last: Range = RANGES.find((range) => range === given) ?? "1h";
  const navigate = useNavigate();
  const stats = useStats(last, name);
  const marks = useMarks({ queues: [name] });
  const queue = useQuery({
    queryKey: ["queue", name],
    queryFn: ({ signal }) => call("GET /api/v1/queues/{name}", { params: { name }, signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(about(name), [["queue", name]]);
  if (queue.data === undefined) return <Unloaded of={queue} />;
  const found = queue.data;
  return (
    <div className={css.screen}>
      <ScreenHead title={name}>
        {found.queue.is_paused ? (
          <Mark tone="warn">{texts.common.pausedBecause(found.queue.reason)}</Mark>
        ) : (
          <Mark tone="good">{texts.common.open}</Mark>
        )}
        <Tabs
          label={texts.common.timeRange}
          tabs={RANGES.map((range) => ({ id: range, label: range }))}
          current={last}
          onChange={(next) => void navigate({ to: "/queues/$name", params: { name }, search: { last: next } })}
        />
        <PauseButton queue={found.queue} isPage />
        <CopyAs title={name} of={() => readSnippets(serverUrl(), "queue", name)} />
      </ScreenHead>
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(found)} />
      </Panel>
      {stats.data === undefined ? (
        <Unloaded of={stats} />
      ) : (
        <ChartsOfOne stats={stats.data} queue={name} marks={marks} />
      )}
      <div className={css.two}>
        <LimitTable limits={found.limits} />
        <TaskTable
          title={texts.queue.runningWhatHoldsTheLimits}
          query={{ queue: name, status: "PROCESSING" }}
          none={texts.queue.nothingRuns}
        />
      </div>
    </div>
  );
}

function factsOf({ queue, ...found }: QueueDetails): Fact[] {
  const count = (status: string, of: number) => (
    <Link key={status} to="/tasks" search={{ queue: queue.name, status }}>
      {of.toLocaleString("en")}
    </Link>
  );
  const empty =
    queue.queued === 0
      ? texts.queue.nothingWaits
      : found.drain_seconds === null
        ? texts.queue.notAtThisRate
        : span(found.drain_seconds);
  return [
    [texts.common.queued, count("queued", queue.queued)],
    [texts.common.pending, count("pending", queue.pending)],
    [texts.common.processing, count("processing", queue.processing)],
    [texts.queue.oldestDue, <Time key="oldest" at={queue.oldest_due_at} as="relative" />],
    [texts.queue.emptyIn, empty],
    [texts.queue.inPerSecond, rateOf(found.submitted_per_second)],
    [texts.queue.outPerSecond, rateOf(found.ended_per_second)],
    ...(queue.unserved ? ([[texts.queue.withoutAWorker, queue.unserved.toLocaleString("en")]] as Fact[]) : []),
  ];
}

function LimitTable({ limits }: { limits: LimitBody[] }) {
  return (
    <Panel title={texts.queue.limits} flush aside={<Link to="/queues">{texts.common.change}</Link>}>
      <Table
        head={[
          texts.queue.limit,
          texts.queue.appliesTo,
          texts.queue.maxConcurrent,
          texts.common.running,
          texts.common.rate,
        ]}
      >
        {limits.length === 0 && (
          <tr>
            <td colSpan={5}>{texts.queue.noLimitHoldsForThis}</td>
          </tr>
        )}
        {limits.map((limit) => (
          <tr key={limit.name}>
            <th scope="row">{limit.name}</th>
            <td>{limit.task ?? (limit.queue ? texts.queue.thisQueue : texts.queue.everyQueue)}</td>
            <td>{limit.max_concurrent?.toLocaleString("en") ?? texts.queue.anyNumber}</td>
            <td>{limit.running.toLocaleString("en")}</td>
            <td>{limit.rate ? limitRate(limit.rate) : texts.queue.any}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function rateOf(perSecond: number): string {
  return perSecond.toLocaleString("en", { maximumSignificantDigits: 2 });
}
