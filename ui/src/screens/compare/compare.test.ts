import { describe, expect, it } from "vitest";
import type { Node } from "@/screens/job/model";
import { compared, isOtherwise } from "./compare";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const node = (key: string, seconds: number | null, status = "COMPLETED") =>
  ({
    key,
    name: "work",
    status,
    started_at: seconds === null ? null : at(0),
    finished_at: seconds === null ? null : at(seconds),
  }) as Node;

describe("two runs of a job", () => {
  it("have what ended otherwise first, then what took longer or shorter", () => {
    const before = [node("same", 3), node("slower", 2), node("broken", 1), node("gone", 1)];
    const after = [node("same", 3), node("slower", 9), node("broken", 1, "FAILED")];
    const found = compared(before, after);
    expect(found.map((one) => one.key)).toEqual(["broken", "gone", "slower", "same"]);
    expect(found.map(isOtherwise)).toEqual([true, true, false, false]);
    expect(found.map((one) => one.longer)).toEqual([0, null, 7, 0]);
  });
});
