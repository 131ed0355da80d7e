import type { ScheduleBody } from "@/api/types";
import { isLate } from "@/screens/schedules/next";

const MOST = 6;

/** Schedules that should have fired by now, the latest first, then those that fire next. */
export function urgent(schedules: ScheduleBody[], now = Date.now()): { schedule: ScheduleBody; isLate: boolean }[] {
  return schedules
    .filter((schedule) => schedule.state === "active" && schedule.next_fire_at !== null)
    .sort((a, b) => Date.parse(a.next_fire_at ?? "") - Date.parse(b.next_fire_at ?? ""))
    .slice(0, MOST)
    .map((schedule) => ({ schedule, isLate: isLate(schedule, now) }));
}
