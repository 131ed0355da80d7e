import { describe, expect, it } from "vitest";
import type { PointBody } from "@/api/types";
import { depthOf } from "./depth";

const point = (submitted: number, completed: number, failed = 0) =>
  ({ submitted, completed, failed, cancelled: 0, skipped: 0 }) as PointBody;

describe("how many tasks were open", () => {
  it("follows from how many are, and from what came and went", () => {
    expect(depthOf([point(10, 0), point(5, 12), point(4, 1, 2)], 4)).toEqual([10, 3, 4]);
  });

  it("is never less than nothing, and unknown without a count", () => {
    expect(depthOf([point(0, 0), point(9, 0)], 3)).toEqual([0, 3]);
    expect(depthOf([point(1, 1)], null)).toEqual([null]);
  });
});
