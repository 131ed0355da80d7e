import { describe, expect, it } from "vitest";
import { dots, latestOf, niceTime } from "./Chart";
import { span } from "./time";

describe("the top of an axis of durations", () => {
  it("is round as a time, and so is its half", () => {
    const tops = [0.3, 4, 7, 26, 55, 100, 130, 3000, 20_000].map(niceTime);

    expect(tops.map(span)).toEqual(["500 ms", "5 s", "10 s", "40 s", "1 min", "2 min", "4 min", "1 h", "10 h"]);
    expect(tops.map((top) => span(top / 2))).toEqual([
      "250 ms",
      "2.5 s",
      "5 s",
      "20 s",
      "30 s",
      "1 min",
      "2 min",
      "30 min",
      "5 h",
    ]);
  });
});

describe("a value without neighbours", () => {
  it("is a dot, others are none", () => {
    const place = (number: number) => 10 * number;
    expect(dots([null, 1, null, 2, 3, null, 4], place, place)).toBe("M10.0,10.0h0M60.0,40.0h0");
    expect(dots([1, 2, 3], place, place)).toBe("");
  });
});

it("a chart shows the bucket before one that is empty yet, whatever its limit is", () => {
  const limit = { values: [5, 5, 5], isLimit: true };
  expect(latestOf(["a", "b", "c"], [{ values: [1, 2, null] }, limit])).toBe(1);
  expect(latestOf(["a", "b", "c"], [{ values: [1, 2, 3] }, limit])).toBe(2);
});
