import { describe, expect, it } from "vitest";
import { placedMarks } from "./Chart";

const TIMES = ["2026-11-18T10:00:00Z", "2026-11-18T10:01:00Z", "2026-11-18T10:02:00Z"];

function mark(at: string) {
  return { at: `2026-11-18T${at}Z`, kind: "paused" as const, text: "mail paused" };
}

describe("marks", () => {
  it("are within the times of a chart, the last bucket included", () => {
    const marks = ["09:59:59", "10:01:00", "10:02:40", "10:03:00"].map(mark);

    expect(placedMarks(marks, TIMES).map(({ share }) => share)).toEqual([0.5, 1]);
  });
});
