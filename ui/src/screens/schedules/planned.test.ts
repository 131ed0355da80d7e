import { describe, expect, it } from "vitest";
import { plannedByDay } from "./planned";

const ONE = { fires_by_day: [{ day: "2026-11-19", count: 2 }] };
const HOURLY = {
  fires_by_day: [
    { day: "2026-11-18", count: 1 },
    { day: "2026-11-19", count: 24 },
  ],
};
const OFTEN = { fires_by_day: [{ day: "2026-11-19", count: 1440 }] };

describe("planned runs", () => {
  it("are added up by day, in the order of days", () => {
    expect(plannedByDay([ONE, HOURLY, {}])).toEqual({
      days: [
        { day: "2026-11-18", count: 1 },
        { day: "2026-11-19", count: 26 },
      ],
      left: 0,
    });
  });

  it("leave out schedules that fire often, unless there are no others", () => {
    expect(plannedByDay([ONE, OFTEN])).toEqual({ days: [{ day: "2026-11-19", count: 2 }], left: 1 });
    expect(plannedByDay([OFTEN, {}]).days).toEqual([{ day: "2026-11-19", count: 1440 }]);
  });
});
