import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { about, every, useRefreshOn } from "@/api/queries";
import type { AttemptBody } from "@/api/types";
import { Panel } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { TextWith } from "@/parts/TextWith";
import { Time, Took } from "@/parts/Time";
import { Traceback } from "@/parts/Traceback";
import { texts } from "@/texts";
import css from "./Task.module.css";

/** Every execution, the newest first. */
export function Attempts({ id, isEnded }: { id: string; isEnded: boolean }) {
  const attempts = useQuery({
    queryKey: ["task", id, "attempts"],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}/attempts", { params: { id }, signal }),
    refetchInterval: every(isEnded ? false : 3_000),
  });
  useRefreshOn(about(id), [["task", id, "attempts"]]);
  if (attempts.data === undefined) return <Unloaded of={attempts} rows={3} />;
  if (attempts.data.items.length === 0) return <Empty title={texts.task.noAttemptsYet} />;
  return (
    <ol className={css.attempts}>
      {[...attempts.data.items].reverse().map((attempt) => (
        <li key={attempt.epoch}>
          <Attempt attempt={attempt} />
        </li>
      ))}
    </ol>
  );
}

function Attempt({ attempt }: { attempt: AttemptBody }) {
  return (
    <Panel label={texts.task.attemptAttempt(attempt.attempt)}>
      <div className={css.attempt}>
        <div className={css.line}>
          <strong>{texts.task.attemptEnded(attempt.attempt, attempt.outcome)}</strong>
          <span>
            <TextWith text={texts.task.started} values={{ time: <Time at={attempt.started_at} /> }} />
          </span>
          <span>
            <TextWith
              text={texts.task.took}
              values={{ span: <Took from={attempt.started_at} to={attempt.finished_at} /> }}
            />
          </span>
          {attempt.worker && <span>{texts.task.onWorker(attempt.worker)}</span>}
        </div>
        {attempt.error && <Traceback error={attempt.error} />}
      </div>
    </Panel>
  );
}
