import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { HoldingTaskBody, JobWhyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Panel } from "@/parts/Panel";
import { Status } from "@/parts/Status";
import { sentence } from "@/parts/sentence";
import { TextWith } from "@/parts/TextWith";
import { Time, Took } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./JobWhy.module.css";

const SHOWN = 4;

/** Why a job has not ended: the tasks that it waits for, those alike together, and why they are not done. */
export function JobWhy({ id, onSelect }: { id: string; onSelect: (key: string) => void }) {
  const why = useQuery({
    queryKey: ["job", id, "why"],
    queryFn: ({ signal }) => call("GET /api/v1/jobs/{id}/why", { params: { id }, signal }),
    refetchInterval: every(5_000),
  });
  const [isAll, setAll] = useState(false);
  if (!why.data) return null;
  const groups = groupsOf(why.data.tasks);
  if (groups.length === 0 && why.data.reasons.length === 0) return null;
  const shown = isAll ? groups : groups.slice(0, SHOWN);
  return (
    <Panel title={texts.job.whatItWaitsFor} aside={<Counts of={why.data} />}>
      <ul className={css.why}>
        {why.data.reasons.map((reason) => (
          <li key={reason.text}>{sentence(reason.text)}</li>
        ))}
        {shown.map((group) => (
          <Group key={group[0]?.key} tasks={group} onSelect={onSelect} />
        ))}
      </ul>
      {shown.length < groups.length && (
        <Button onClick={() => setAll(true)}>{texts.job.showMore(groups.length - shown.length)}</Button>
      )}
    </Panel>
  );
}

function Counts({ of }: { of: JobWhyBody }) {
  const parts = [
    of.running > 0 && texts.job.running(of.running),
    of.queued > 0 && texts.job.queued(of.queued),
    of.blocked > 0 && texts.job.blocked(of.blocked),
  ].filter(Boolean);
  return <span className={css.counts}>{parts.join(", ")}</span>;
}

function Group({ tasks, onSelect }: { tasks: HoldingTaskBody[]; onSelect: (key: string) => void }) {
  const [first] = tasks;
  if (!first) return null;
  const behind = Math.max(...tasks.map((task) => task.blocks));
  return (
    <li className={css.group}>
      <Status of={first.status} small />
      <span className={css.names}>
        {tasks.slice(0, 3).map((task) => (
          <button key={task.key} type="button" onClick={() => onSelect(task.key)}>
            {task.key}
          </button>
        ))}
        {tasks.length > 3 && <span>{texts.job.andMore(tasks.length - 3)}</span>}
        {behind > 0 && (
          <span className={css.behind}>
            {tasks.length === 1 ? texts.job.behindIt(behind) : texts.job.behindThem(behind)}
          </span>
        )}
      </span>
      <span className={css.reasons}>
        {first.reasons.map((reason) => (
          <span key={reason.text}>
            {reason.cause === "running" && first.started_at ? (
              <TextWith text={texts.job.runningFor} values={{ span: <Took from={first.started_at} to={null} /> }} />
            ) : (
              sentence(reason.text)
            )}
            {reason.until && (
              <>
                {" "}
                (<Time at={reason.until} as="relative" />)
              </>
            )}
          </span>
        ))}
      </span>
    </li>
  );
}

/** Tasks that wait for the same reasons are one entry. */
function groupsOf(tasks: HoldingTaskBody[]): HoldingTaskBody[][] {
  const groups = new Map<string, HoldingTaskBody[]>();
  for (const task of tasks) {
    const isRunning = task.reasons.some((reason) => reason.cause === "running");
    const key = isRunning ? task.key : [task.status, ...task.reasons.map((reason) => reason.text)].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), task]);
  }
  return [...groups.values()];
}
