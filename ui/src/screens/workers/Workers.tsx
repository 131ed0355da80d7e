import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { WorkerBody } from "@/api/types";
import { CodeBlock } from "@/parts/CodeBlock";
import { Mark } from "@/parts/Mark";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { START_WORKER } from "@/parts/snippets";
import { Tags } from "@/parts/Tags";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { cpuText, landmarkNames, memoryText, workerName } from "@/parts/worker";
import { PastWorkers } from "@/screens/worker/PastWorkers";
import { texts } from "@/texts";
import { DrainButton } from "./DrainButton";
import css from "./Workers.module.css";

const MOST_TYPES = 8;

/** The fleet: one tile per worker, one cell per slot. */
export function Workers() {
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(ofTypes("drumline.worker."), [["workers"]]);
  useRemembered("/workers", workers.data?.items.map((worker) => worker.id) ?? []);
  if (workers.data === undefined) return <Unloaded of={workers} />;
  const { items } = workers.data;
  const slots = items.reduce((sum, worker) => sum + worker.capacity, 0);
  const held = items.reduce((sum, worker) => sum + worker.held, 0);
  const names = landmarkNames(items);
  return (
    <>
      <ScreenHead title={texts.common.workers}>
        <span className={css.sum}>{texts.workers.slotsInUse(items.length, held, slots)}</span>
      </ScreenHead>
      {items.length === 0 ? (
        <Empty title={texts.workers.noWorkerIsRunning}>
          <p>{texts.workers.tasksWaitUntilAWorker}</p>
          <CodeBlock code={START_WORKER} what={texts.overview.command} />
        </Empty>
      ) : (
        <div className={css.fleet}>
          {items.map((worker) => (
            <Worker key={worker.id} worker={worker} name={names.get(worker.id)} />
          ))}
        </div>
      )}
      <PastWorkers />
    </>
  );
}

function Worker({ worker, name }: { worker: WorkerBody; name: string | undefined }) {
  const cells = Math.min(worker.capacity, 64);
  const used = Math.min(cells, Math.ceil((worker.held / Math.max(1, worker.capacity)) * cells));
  return (
    <Panel
      label={name}
      title={
        <Link to="/workers/$id" params={{ id: worker.id }}>
          {workerName(worker)}
        </Link>
      }
      aside={
        <>
          {worker.should_drain && <Mark tone="warn">{texts.common.draining}</Mark>}
          <DrainButton worker={worker} />
        </>
      }
    >
      <div className={css.worker}>
        <div
          className={css.slots}
          role="img"
          aria-label={texts.workers.heldOfCapacitySlotsIn(worker.held, worker.capacity)}
        >
          {Array.from({ length: cells }, (_, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the cells are all alike
            <i key={place} data-used={place < used || undefined} />
          ))}
        </div>
        <p className={css.line}>
          <Link to="/tasks" search={{ worker: worker.id }}>
            {texts.workers.running(worker.held)}
          </Link>
          <TextWith
            text={texts.workers.heartbeatSince}
            values={{ beat: <Time at={worker.beat_at} as="relative" />, since: <Time at={worker.opened_at} /> }}
          />
        </p>
        {(worker.memory !== null || worker.cpu !== null) && (
          <p className={css.line}>{texts.workers.memoryAndCpu(memoryText(worker), cpuText(worker))}</p>
        )}
        <p className={css.line}>
          <code>{worker.id}</code>
          {worker.host && ` · ${worker.host}`}
          {worker.app_version ? ` · ${worker.app_version}` : worker.version && texts.workers.version(worker.version)}
        </p>
        <p className={css.line}>
          {worker.queues.length > 0 ? texts.workers.queuesValue(worker.queues.join(", ")) : texts.workers.allQueues}
        </p>
        <Tags of={worker.types.slice(0, MOST_TYPES)} />
        {worker.types.length > MOST_TYPES && (
          <p className={css.line} title={worker.types.join(", ")}>
            {texts.workers.moreTypes(worker.types.length - MOST_TYPES)}
          </p>
        )}
      </div>
    </Panel>
  );
}
