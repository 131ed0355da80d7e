import { describe, expect, it } from "vitest";
import type { PointBody, SloBody } from "@/api/types";
import { burnedOf, chartedOf, rangeOf, shownValue, typedValue } from "./values";

describe("values of alerts", () => {
  it("are shown in the unit of the measure", () => {
    expect(shownValue("failure_rate", 0.125)).toBe("12.5 %");
    expect(shownValue("backlog", 12_345.4)).toBe("12,345");
    expect(shownValue("burn_rate", 14.43)).toBe("14.4×");
    expect(shownValue("oldest_wait", 90)).toBe("1 min 30 s");
    expect(shownValue("failure_rate", null)).toBe("–");
  });

  it("are typed as the server reads them", () => {
    expect(typedValue("failure_rate", 0.05)).toBe("5%");
    expect(typedValue("failure_rate", 0.145)).toBe("14.5%");
    expect(typedValue("run_p95", 30)).toBe("30s");
    expect(typedValue("backlog", 1000)).toBe("1000");
  });
});

it("the budget falls with each failure and ends at what is left", () => {
  const points = [
    { at: "a", good: 10, total: 10 },
    { at: "b", good: 9, total: 10 },
    { at: "c", good: 0, total: 0 },
  ];
  const slo = { target: 0.9, total: 20, points } as unknown as SloBody;

  const { left, burn } = burnedOf(slo);

  expect(left.map((share) => Number(share.toFixed(3)))).toEqual([1, 0.5, 0.5]);
  expect(burn.map((rate) => rate && Number(rate.toFixed(3)))).toEqual([0, 1, null]);
});

it("a measure is drawn from the statistics, over several windows of its alert", () => {
  const points = [
    { failed: 1, completed: 3, wait_p95: 2, run_p95: null, depth: 7 },
    { failed: 0, completed: 0, wait_p95: null, run_p95: 4, depth: null },
  ] as unknown as PointBody[];

  expect(chartedOf("failure_rate", points)).toEqual([0.25, null]);
  expect(chartedOf("wait_p95", points)).toEqual([2, null]);
  expect(chartedOf("run_p95", points)).toEqual([null, 4]);
  expect(chartedOf("backlog", points)).toEqual([7, null]);
  expect(chartedOf("late_schedule", points)).toBeNull();
  expect([null, 600, 3_600, 21_600, 86_400].map(rangeOf)).toEqual(["1h", "1h", "6h", "24h", "7d"]);
});
