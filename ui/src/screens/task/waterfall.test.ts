import { describe, expect, it } from "vitest";
import type { AttemptBody, ChildBody, StepBody, TaskBody, TaskWaitBody } from "@/api/types";
import { slowness } from "@/parts/Waterfall";
import { type Parts, rowsOf } from "./waterfall";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const task = { created_at: at(0), due_at: at(0) } as TaskBody;
const attempt = (number: number, from: number, to: number, outcome: string) =>
  ({ attempt: number, started_at: at(from), finished_at: at(to), outcome }) as AttemptBody;
const nothing: Parts = { attempts: [], steps: [], waits: [], children: [], usual: null };
const drawn = (parts: Partial<Parts>, isEnded = true) =>
  rowsOf(task, { ...nothing, ...parts }, isEnded, Date.parse(at(60))).map(
    (row) =>
      `${row.label}: ${row.bars.map((bar) => `${bar.kind} ${(bar.to - bar.from) / 1000}`).join(", ")}; ${row.text}`,
  );

describe("the rows of a task's timeline", () => {
  it("has a row for each attempt, with the wait before it", () => {
    expect(drawn({ attempts: [attempt(1, 1, 2, "retried"), attempt(2, 5, 9, "completed")] })).toEqual([
      "Attempt 1: waited 1, ran 1; 1 s, retried",
      "Attempt 2: waited 3, ran 4; 4 s, completed",
    ]);
  });

  it("keeps the executions of one attempt together: a durable task is parked while it waits", () => {
    expect(drawn({ attempts: [attempt(1, 0, 1, "parked"), attempt(1, 31, 33, "completed")] })).toEqual([
      "Attempt 1: ran 1, waited 30, ran 2; 3 s, completed",
    ]);
  });

  it("has steps, what is waited for, and children with their own wait", () => {
    const step = { name: "charge", key: "7", kind: "step", status: "done", started_at: at(1), finished_at: at(3) };
    const nap = { name: "nap", key: null, kind: "sleep", status: "done", started_at: at(3), finished_at: at(9) };
    const wait = { name: "approval", key: null, kind: "signal", since: at(50) };
    const child = {
      id: "c",
      name: "part",
      key: null,
      status: "COMPLETED",
      created_at: at(4),
      started_at: at(5),
      finished_at: at(8),
    };
    expect(
      drawn({
        steps: [step, nap] as StepBody[],
        waits: [wait] as TaskWaitBody[],
        children: [child] as ChildBody[],
      }),
    ).toEqual([
      "charge [7]: ran 2; 2 s",
      "nap: waited 6; 6 s",
      "approval: waited 10; waiting for 10 s",
      "part: waited 1, ran 3; 3 s, completed",
    ]);
  });

  it("says how much longer than usual an attempt took, and nothing within the usual", () => {
    const usual = { p50: 1, p95: 2 };
    const [slow] = rowsOf(task, { ...nothing, usual, attempts: [attempt(1, 0, 5, "completed")] }, true);
    const [fine] = rowsOf(task, { ...nothing, usual, attempts: [attempt(1, 0, 2, "completed")] }, true);
    expect(slow && slowness(slow)).toBe("5.0× usual");
    expect(fine && slowness(fine)).toBe(null);
  });
});
