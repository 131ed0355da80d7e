import { CircleCheck, CircleX, Hourglass, type LucideIcon, Moon, RotateCcw, Send, TimerOff } from "lucide-react";
import { useState } from "react";
import { useMayOn } from "@/api/me";
import type { StepBody, TaskBody, TaskWaitBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { JsonTree } from "@/parts/JsonTree";
import { Panel } from "@/parts/Panel";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { texts } from "@/texts";
import { Rounds } from "./Rounds";
import { SignalSheet } from "./SignalSheet";
import css from "./Steps.module.css";
import { useSteps } from "./useSteps";

const WAITS = {
  sleep: "sleeps",
  call: texts.task.waitsForAChild,
  group: texts.task.waitsForChildren,
  first: texts.task.waitsForTheFirstChild,
  window: texts.task.waitsForChildrenBeforeIt,
  signal: texts.task.waitsForASignal,
  retry: texts.task.isTriedAgain,
  person: texts.task.waitsForCodeThatCan,
};

/** What a durable task has done and waits for. Nothing is shown of tasks that are not durable. */
export function Steps({ task, isEnded }: { task: TaskBody; isEnded: boolean }) {
  const { query: steps, items, waits, rounds } = useSteps(task, isEnded);
  if (items.length === 0 && waits.length === 0 && rounds.length === 0) return null;
  return (
    <Panel title={texts.task.steps}>
      <Rounds task={task.id} rounds={rounds}>
        {(step) => <Step key={`${step.name}\n${step.key}`} step={step} />}
      </Rounds>
      <ol className={css.steps}>
        {items.map((step) => (
          <Step key={`${step.name}\n${step.key}`} step={step} />
        ))}
        {waits.map((wait) => (
          <Waiting key={`${wait.name}\n${wait.key}`} task={task} wait={wait} />
        ))}
      </ol>
      {steps.hasNextPage && (
        <div className={css.more}>
          <Button busy={steps.isFetchingNextPage} onClick={() => void steps.fetchNextPage()}>
            {texts.task.showMore}
          </Button>
        </div>
      )}
    </Panel>
  );
}

function iconOf(step: StepBody): LucideIcon {
  if (step.status === "failed") return CircleX;
  if (step.status === "tried") return RotateCcw;
  if (step.status === "timed_out") return TimerOff;
  return step.kind === "sleep" ? Moon : step.kind === "signal" ? Send : CircleCheck;
}

function wordsOf(step: StepBody): string {
  if (step.status === "tried") return texts.task.failedTry(step.tries);
  if (step.status === "failed") return texts.task.failedAfter(step.tries);
  if (step.status === "timed_out") return texts.task.timedOut;
  const took = step.duration === null ? "" : span(step.duration);
  if (step.kind === "sleep") return texts.task.slept(took);
  return step.kind === "signal" ? texts.task.cameAfter(took) : texts.task.tookSpan(took);
}

function Step({ step }: { step: StepBody }) {
  const Icon = iconOf(step);
  return (
    <li className={css.step} data-status={step.status}>
      <Icon size={15} aria-hidden="true" />
      <Name name={step.name} of={step.key} />
      <span className={css.took}>
        {wordsOf(step)}, <Time at={step.finished_at} />
      </span>
      {step.error && (
        <p className={`${css.value} ${css.error}`}>
          {step.error.kind}: {step.error.message}
          {step.due_at && (
            <TextWith text={texts.task.again} values={{ time: <Time at={step.due_at} as="relative" /> }} />
          )}
        </p>
      )}
      {step.status === "done" && step.kind !== "sleep" && step.result !== null && (
        <div className={css.value}>
          <JsonTree value={step.result} />
        </div>
      )}
    </li>
  );
}

function Waiting({ task, wait }: { task: TaskBody; wait: TaskWaitBody }) {
  const [isAnswering, setAnswering] = useState(false);
  const mayAnswer = useMayOn("tasks:signal", task) && wait.kind === "signal";
  return (
    <li className={css.step} data-status="waiting">
      <Hourglass size={15} aria-hidden="true" />
      <Name name={wait.name} of={wait.key} />
      <span className={css.took}>
        {WAITS[wait.kind]}
        {wait.pending !== null && texts.task.pendingToEnd(wait.pending)}
        <TextWith
          text={wait.until ? texts.task.sinceUntil : texts.task.since}
          values={{ since: <Time at={wait.since} />, until: <Time at={wait.until} /> }}
        />
      </span>
      {wait.reason && <p className={css.value}>{wait.reason}</p>}
      {mayAnswer && (
        <div className={css.value}>
          <Button icon={Send} tone="primary" onClick={() => setAnswering(true)}>
            {texts.task.answer}
          </Button>
        </div>
      )}
      {isAnswering && <SignalSheet id={task.id} wait={wait} onClose={() => setAnswering(false)} />}
    </li>
  );
}

function Name({ name, of }: { name: string; of: string | null }) {
  return (
    <span className={css.name}>
      <strong>{name}</strong>
      {of && <> [{of}]</>}
    </span>
  );
}
