import { expect, it } from "vitest";
import { totalsOf } from "./totals";

it("adds up counts and weighs durations by how many tasks ended", () => {
  const totals = totalsOf([
    { submitted: 5, completed: 3, failed: 1, run_p50: 1, run_p95: 4 },
    { submitted: 1, completed: 0, failed: 0, run_p50: null, run_p95: null },
    { submitted: 2, completed: 1, failed: 0, run_p50: 6, run_p95: 9 },
  ]);

  expect(totals).toEqual({ submitted: 8, ended: 5, failed: 1, success: 0.8, p50: 2, p95: 5 });
});

it("says nothing where nothing ended", () => {
  expect(totalsOf([])).toEqual({ submitted: 0, ended: 0, failed: 0, success: null, p50: null, p95: null });
});
