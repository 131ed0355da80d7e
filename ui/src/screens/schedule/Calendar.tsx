import type { DayBody } from "@/api/types";
import { texts } from "@/texts";
import css from "./Schedule.module.css";

const WEEK = [
  texts.schedule.mon,
  texts.schedule.tue,
  texts.schedule.wed,
  texts.schedule.thu,
  texts.schedule.fri,
  texts.schedule.sat,
  texts.schedule.sun,
];
const DAY_MS = 86_400_000;

/** How often it fires on which day, by the schedule's own clock: each of the next five weeks. */
export function Calendar({ days }: { days: DayBody[] }) {
  const most = Math.max(0, ...days.map((day) => day.count));
  const first = days[0];
  if (!first || most === 0) return <p>{texts.schedule.noPlannedRuns}</p>;
  const before = (new Date(`${first.day}T00:00:00Z`).getUTCDay() + 6) % 7;
  const start = Date.parse(`${first.day}T00:00:00Z`) - before * DAY_MS;
  const counts = new Map(days.map((day) => [day.day, day.count]));
  const shown = Array.from({ length: 35 }, (_, place) => new Date(start + place * DAY_MS).toISOString().slice(0, 10));
  return (
    <div className={css.calendar} role="group" aria-label={texts.schedule.plannedRunsByDay}>
      {WEEK.map((day) => (
        <b key={day}>{day}</b>
      ))}
      {shown.map((day) => {
        const count = counts.get(day) ?? 0;
        const words = `${count.toLocaleString("en")} ${count === 1 ? "run" : "runs"}`;
        return (
          <span key={day} data-level={count ? Math.ceil((3 * count) / most) : 0} title={`${day}: ${words}`}>
            {Number(day.slice(8))}
            {count > 0 && <small>{short(count)}</small>}
          </span>
        );
      })}
    </div>
  );
}

/** 1440 as "1.4k". */
function short(count: number): string {
  return count < 1000 ? `${count}×` : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k×`;
}
