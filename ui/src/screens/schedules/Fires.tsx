import type { FireBody } from "@/api/types";
import { Time } from "@/parts/Time";
import css from "./Schedules.module.css";

/** Fire times, in the reader's zone and in the schedule's. */
export function Fires({ of, zone, isPaused = false }: { of: FireBody[]; zone: string; isPaused?: boolean }) {
  if (of.length === 0) {
    return <p>{isPaused ? "It is paused: nothing fires until it is resumed." : "It does not fire any more."}</p>;
  }
  return (
    <ol className={css.fires}>
      {of.map((fire) => (
        <li key={fire.utc}>
          <Time at={fire.utc} />
          <span>
            {fire.local.replace("T", " ").replace(/(\.\d+)?([+-]\d\d:\d\d|Z)$/, "")} {zone}
          </span>
          {fire.note && <span className={css.note}>{fire.note}</span>}
        </li>
      ))}
    </ol>
  );
}
