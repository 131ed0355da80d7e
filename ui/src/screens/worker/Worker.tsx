import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import { about, every, useRefreshOn } from "@/api/queries";
import type { WorkerBody } from "@/api/types";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { Mark } from "@/parts/Mark";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { readSnippets } from "@/parts/snippets";
import { TaskTable } from "@/parts/TaskTable";
import { Time } from "@/parts/Time";
import { cpuText, memoryText, workerName } from "@/parts/worker";
import css from "@/screens/type/Type.module.css";
import { DrainButton } from "@/screens/workers/DrainButton";
import { texts } from "@/texts";

/** One worker: its load, what it can run, and what it runs now. Workers that left lately are found, too. */
export function Worker() {
  const { id } = useParams({ from: "/workers/$id" });
  const found = useQuery({
    queryKey: ["workers", "one", id],
    queryFn: ({ signal }) => call("GET /api/v1/workers/{id}", { params: { id }, signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(about(id), [["workers", "one", id]]);
  const worker = found.data;
  if (!worker && found.error instanceof Problem && [404, 422].includes(found.error.status)) {
    return (
      <Empty title={texts.worker.thisWorkerIsNotKnown}>
        <p>
          {texts.worker.workersThatLeft} <Link to="/workers">{texts.worker.workersThatRunNow}</Link>
        </p>
      </Empty>
    );
  }
  if (!worker) return <Unloaded of={found} />;
  return (
    <div className={css.screen}>
      <ScreenHead title={workerName(worker)}>
        <WorkerState worker={worker} />
        <DrainButton worker={worker} />
        <CopyAs title={workerName(worker)} of={() => readSnippets(serverUrl(), "worker", worker.id)} />
      </ScreenHead>
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(worker)} />
      </Panel>
      <TaskTable
        title={texts.worker.runningNow}
        query={{ worker: id, status: "PROCESSING" }}
        none={texts.worker.noRunningTasks}
        limit={50}
      />
      <TaskTable title={texts.worker.latestTasks} query={{ worker: id }} none={texts.worker.noTasksYet} limit={15} />
      <Panel title={texts.common.taskTypes}>
        <ul className={css.names}>
          {worker.types.map((name) => (
            <li key={name}>
              <Link to="/types/$name" params={{ name }}>
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

function WorkerState({ worker }: { worker: WorkerBody }) {
  if (worker.closed_at) return <Mark tone="none">{texts.worker.left}</Mark>;
  if (worker.should_drain) return <Mark tone="warn">{texts.common.draining}</Mark>;
  return <Mark tone="good">{texts.common.active}</Mark>;
}

function factsOf(worker: WorkerBody): Fact[] {
  return [
    [texts.worker.slotsInUse, texts.parts.ofAll(worker.held, worker.capacity)],
    [texts.worker.memory, memoryText(worker)],
    [texts.worker.cpu, worker.cpu === null ? "–" : texts.worker.ofOneCore(cpuText(worker))],
    [texts.worker.heartbeat, <Time key="beat" at={worker.beat_at} as="relative" />],
    [texts.common.started, <Time key="opened" at={worker.opened_at} />],
    ...(worker.closed_at ? ([[texts.worker.left, <Time key="closed" at={worker.closed_at} />]] as Fact[]) : []),
    [texts.worker.application, worker.app_version || "–"],
    [texts.worker.version, worker.version],
    [texts.worker.host, worker.host || "–"],
    [texts.worker.process, String(worker.pid)],
    [texts.common.queues, worker.queues.join(", ") || texts.worker.allQueues],
    [texts.worker.id, <code key="id">{worker.id}</code>],
  ];
}
