import type { FireBody } from "@/api/types";
import css from "./Schedule.module.css";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** How often it fires on which day, by the schedule's own clock: the next five weeks, as far as they are known. */
export function Calendar({ fires }: { fires: FireBody[] }) {
  const counts = new Map<string, number>();
  for (const fire of fires) {
    const day = fire.local.slice(0, 10);
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  const most = Math.max(1, ...counts.values());
  const [first] = [...counts.keys()].sort();
  const last = [...counts.keys()].sort().at(-1);
  if (!first || !last) return <p>No planned runs.</p>;
  const start = new Date(`${first}T00:00:00Z`);
  start.setUTCDate(start.getUTCDate() - ((start.getUTCDay() + 6) % 7));
  const weeks = Math.min(
    5,
    Math.ceil((Date.parse(`${last}T00:00:00Z`) - start.getTime() + 86_400_000) / (7 * 86_400_000)),
  );
  const days = Array.from({ length: weeks * 7 }, (_, place) => {
    const day = new Date(start.getTime() + place * 86_400_000);
    return day.toISOString().slice(0, 10);
  });
  return (
    <div className={css.calendar} role="group" aria-label="Planned fires by day">
      {DAYS.map((day) => (
        <b key={day}>{day}</b>
      ))}
      {days.map((day) => {
        const count = counts.get(day) ?? 0;
        return (
          <span key={day} data-level={count ? Math.ceil((3 * count) / most) : 0} title={`${day}: ${count}`}>
            {Number(day.slice(8))}
          </span>
        );
      })}
    </div>
  );
}
