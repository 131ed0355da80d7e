import { Link } from "@tanstack/react-router";
import type { ScheduleBody } from "@/api/types";
import { Status } from "@/parts/Status";
import { Time } from "@/parts/Time";
import css from "./Schedules.module.css";

/** How the last run stands, with its task or job, and when it was. */
export function LastRun({ of: run }: { of: ScheduleBody["last_run"] }) {
  if (!run) return "–";
  const status = run.status ? <Status of={run.status} small /> : "–";
  return (
    <span className={css.last}>
      {run.task_id ? (
        <Link to="/tasks/$id" params={{ id: run.task_id }}>
          {status}
        </Link>
      ) : run.job_id ? (
        <Link to="/jobs/$id" params={{ id: run.job_id }}>
          {status}
        </Link>
      ) : (
        status
      )}
      <small>
        <Time at={run.fire_time} as="relative" />
      </small>
    </span>
  );
}
