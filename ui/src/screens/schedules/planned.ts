import type { DayBody, ScheduleBody } from "@/api/types";

/** Schedules that fire more often on a day would hide when the others fire. */
export const OFTEN = 48;

type Planned = Pick<ScheduleBody, "fires_by_day">;

function isFrequent({ fires_by_day = [] }: Planned): boolean {
  return fires_by_day.some(({ count }) => count > OFTEN);
}

/** The planned runs of several schedules on each day, the first day first, and how many that fire often are left out. */
export function plannedByDay(schedules: Planned[]): { days: DayBody[]; left: number } {
  const seldom = schedules.filter((schedule) => !isFrequent(schedule));
  const shown = seldom.some(({ fires_by_day = [] }) => fires_by_day.length > 0) ? seldom : schedules;
  const counts = new Map<string, number>();
  for (const { day, count } of shown.flatMap(({ fires_by_day = [] }) => fires_by_day))
    counts.set(day, (counts.get(day) ?? 0) + count);
  const days = [...counts].map(([day, count]) => ({ day, count })).sort((a, b) => a.day.localeCompare(b.day));
  return { days, left: schedules.length - shown.length };
}
