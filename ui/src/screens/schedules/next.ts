import type { ScheduleBody } from "@/api/types";
import { relative, span } from "@/parts/time";
import { texts } from "@/texts";

const LATE_MS = 10_000;

type Due = Pick<ScheduleBody, "next_fire_at" | "jitter">;

/** How long it is since a schedule had to have fired, its jitter included; below zero there is time left. */
function overdue(schedule: Due, now: number): number {
  return now - Date.parse(schedule.next_fire_at ?? "") - schedule.jitter * 1000;
}

/** Whether a schedule should have fired by now: where it has jitter, not before that is over. */
export function isLate(schedule: Due, now = Date.now()): boolean {
  return overdue(schedule, now) > LATE_MS;
}

/** "in 3 min", "due, within 40 s" where jitter puts it off, "due now", "2 min late". */
export function nextWords(schedule: Due, now = Date.now()): string {
  const at = schedule.next_fire_at ?? "";
  if (Date.parse(at) > now) return relative(at, now);
  const over = overdue(schedule, now);
  if (over < 0) return texts.schedules.dueWithin(span(Math.ceil(-over / 1000)));
  return isLate(schedule, now) ? texts.schedules.late(span(Math.round(over / 1000))) : texts.schedules.dueNow;
}
