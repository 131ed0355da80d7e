import { expect, it } from "vitest";
import { isLate, nextWords } from "./next";

const now = Date.parse("2026-01-01T12:00:00Z");

it.each([
  ["2026-01-01T12:03:00Z", 0, "in 3 min"],
  ["2026-01-01T11:59:58Z", 0, "due now"],
  ["2026-01-01T11:58:00Z", 0, "2 min late"],
  ["2026-01-01T12:03:00Z", 60, "in 3 min"],
  ["2026-01-01T11:59:40Z", 60, "due within 40 s"],
  ["2026-01-01T11:58:58Z", 60, "due now"],
  ["2026-01-01T11:57:00Z", 60, "2 min late"],
])("says when what fires at %s with %d s of jitter does so", (next_fire_at, jitter, words) => {
  expect(nextWords({ next_fire_at, jitter }, now)).toBe(words);
  expect(isLate({ next_fire_at, jitter }, now)).toBe(words.endsWith("late"));
});
