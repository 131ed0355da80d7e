import { describe, expect, it } from "vitest";
import type { AttemptBody, TaskBody } from "@/api/types";
import { stretchesOf } from "./timeline";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const task = (due: number) => ({ created_at: at(0), due_at: at(due) }) as TaskBody;
const attempt = (number: number, from: number, to: number | null, outcome: string) =>
  ({ attempt: number, started_at: at(from), finished_at: to === null ? null : at(to), outcome }) as AttemptBody;
const words = (of: ReturnType<typeof stretchesOf>) =>
  of.map((one) => `${one.kind} ${(one.to - one.from) / 1000}${one.outcome ? ` ${one.outcome}` : ""}`);

describe("a task's timeline", () => {
  it("tells a wait for its time from a wait in the queue", () => {
    expect(words(stretchesOf(task(5), [attempt(1, 8, 9, "completed")], true))).toEqual([
      "delayed 5",
      "waited 3",
      "ran 1 completed",
    ]);
  });

  it("has every execution, and the pauses between them", () => {
    const attempts = [attempt(1, 1, 2, "retried"), attempt(2, 7, 8, "failed")];
    expect(words(stretchesOf(task(6), attempts, true))).toEqual([
      "waited 1",
      "ran 1 retried",
      "delayed 4",
      "waited 1",
      "ran 1 failed",
    ]);
  });

  it("goes on until now while the task waits or runs", () => {
    const now = Date.parse(at(10));
    expect(words(stretchesOf(task(0), [], false, now))).toEqual(["waited 10"]);
    expect(words(stretchesOf(task(0), [attempt(1, 4, null, "running")], false, now))).toEqual([
      "waited 4",
      "ran 6 running",
    ]);
  });
});
