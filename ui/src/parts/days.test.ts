import { expect, test } from "vitest";
import { dayName, isDay, monthName, plusDays, plusMonths, weekday, weeksOf } from "./days";

test("days are counted over the ends of months and years, and over a change of the clock", () => {
  expect(plusDays("2026-12-31", 1)).toBe("2027-01-01");
  expect(plusDays("2028-03-01", -1)).toBe("2028-02-29");
  expect(plusDays("2026-10-24", 2)).toBe("2026-10-26");
});

test("a month that is too short ends with its last day", () => {
  expect(plusMonths("2026-01-31", 1)).toBe("2026-02-28");
  expect(plusMonths("2026-01-31", -2)).toBe("2025-11-30");
  expect(plusMonths("2026-11-18", 12)).toBe("2027-11-18");
});

test("the weeks of a month start on Monday and hold each of its days once", () => {
  const weeks = weeksOf("2026-11-18");

  expect(weeks[0]?.[0]).toBe("2026-10-26");
  expect(weeks.every((week) => week.length === 7 && weekday(week[0] ?? "") === 0)).toBe(true);
  expect(weeks.flat().filter((day) => day.startsWith("2026-11"))).toHaveLength(30);
  expect(weeksOf("2027-02-10")).toHaveLength(4);
});

test("only what is in the calendar is a day", () => {
  expect(isDay("2028-02-29")).toBe(true);
  expect(isDay("2026-02-29")).toBe(false);
  expect(isDay("2026-13-01")).toBe(false);
  expect(isDay("yesterday")).toBe(false);
});

test("days and months have names", () => {
  expect(monthName("2026-11-18")).toBe("November 2026");
  expect(dayName("2026-11-18")).toBe("Wednesday, 18 November 2026");
});
