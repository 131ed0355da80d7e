import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "@/api/client";
import type { RoundBody, StepBody } from "@/api/types";
import { JsonTree } from "@/parts/JsonTree";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Steps.module.css";

const SHOWN = 200;

interface Props {
  task: string;
  rounds: readonly RoundBody[];
  children: (step: StepBody) => ReactNode;
}

/** The rounds of a durable task that are over, each with what it was given and has done. */
export function Rounds({ task, rounds, children }: Props) {
  return rounds.map((round) => (
    <Round key={round.round} task={task} round={round}>
      {children}
    </Round>
  ));
}

function Round({ task, round, children }: { task: string; round: RoundBody; children: (step: StepBody) => ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const steps = useQuery({
    queryKey: ["task", task, "round", round.round],
    queryFn: ({ signal }) =>
      call("GET /api/v1/tasks/{id}/steps", {
        params: { id: task },
        query: { limit: SHOWN, round: round.round },
        signal,
      }),
    enabled: isOpen,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <details className={css.round} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{texts.task.round(round.round)}</strong>
        <span className={css.took}>
          <TextWith text={texts.task.recordsEnded(round.records)} values={{ time: <Time at={round.ended_at} /> }} />
        </span>
      </summary>
      {steps.data && (
        <>
          <div className={css.value}>
            <JsonTree value={steps.data.payload} />
          </div>
          <ol className={css.steps}>{steps.data.items.map(children)}</ol>
          {steps.data.next_cursor && <p className={css.took}>{texts.task.firstShown(SHOWN)}</p>}
        </>
      )}
      {steps.error && <p className={css.error}>{steps.error.message}</p>}
    </details>
  );
}
