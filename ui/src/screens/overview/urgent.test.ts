import { expect, it } from "vitest";
import type { ScheduleBody } from "@/api/types";
import { urgent } from "./urgent";

it("puts what is late before what comes, and leaves out what does not fire", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  const schedule = (name: string, state: string, next: string | null, jitter = 0) =>
    ({ name, state, next_fire_at: next, jitter }) as ScheduleBody;
  const found = urgent(
    [
      schedule("soon", "active", "2026-01-01T12:05:00Z"),
      schedule("late", "active", "2026-01-01T11:59:00Z"),
      schedule("just due", "active", "2026-01-01T11:59:58Z"),
      schedule("put off", "active", "2026-01-01T11:59:30Z", 60),
      schedule("paused", "paused", "2026-01-01T11:00:00Z"),
      schedule("over", "finished", null),
    ],
    now,
  );
  expect(found.map((one) => `${one.schedule.name}${one.isLate ? "!" : ""}`)).toEqual([
    "late!",
    "put off",
    "just due",
    "soon",
  ]);
});
