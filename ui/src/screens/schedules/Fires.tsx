import type { FireBody } from "@/api/types";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Schedules.module.css";

/** Fire times, in the reader's zone and in the schedule's. */
export function Fires({ of, zone, isPaused = false }: { of: FireBody[]; zone: string; isPaused?: boolean }) {
  if (of.length === 0) {
    return <p>{isPaused ? texts.schedules.pausedNoRunsUntilIt : texts.schedules.noMoreRuns}</p>;
  }
  return (
    <ol className={css.fires}>
      {of.map((fire) => (
        <li key={fire.utc}>
          <Time at={fire.utc} />
          <Time at={fire.utc} as="relative" />
          <span>
            {fire.local.replace("T", " ").replace(/(\.\d+)?([+-]\d\d:\d\d|Z)$/, "")} {zone}
          </span>
          {fire.note && <span className={css.note}>{fire.note}</span>}
        </li>
      ))}
    </ol>
  );
}
