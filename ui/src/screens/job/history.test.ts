import { describe, expect, it } from "vitest";
import type { JobAttemptBody, JobBody } from "@/api/types";
import { historyOf } from "./history";
import type { Node } from "./model";

const job = { status: "FAILED", created_at: "2026-01-01T00:00:00Z", finished_at: "2026-01-01T00:00:05Z" } as JobBody;
const node = (key: string, more: Partial<Node>) =>
  ({ key, attempt: 1, status: "PENDING", started_at: null, finished_at: null, reason: null, ...more }) as Node;
const read = node("read", {
  status: "COMPLETED",
  started_at: "2026-01-01T00:00:01Z",
  finished_at: "2026-01-01T00:00:01Z",
});
const load = node("load", {
  status: "FAILED",
  attempt: 2,
  reason: "no room",
  started_at: "2026-01-01T00:00:04Z",
  finished_at: "2026-01-01T00:00:05Z",
});
const told = (attempts: JobAttemptBody[]) =>
  historyOf(job, [read, load, node("later", {})], attempts).map((one) => `${one.key ?? "job"} ${one.words}`);

describe("a job's history", () => {
  it("tells what happened, the latest first", () => {
    expect(told([])).toEqual([
      "job failed",
      "load failed: no room",
      "load started, attempt 2",
      "read completed",
      "read started",
      "job was submitted",
    ]);
  });

  it("tells of every execution that is known, and of other tasks the last", () => {
    const ran = (attempt: number, outcome: string, from: string, to: string, reason: string) =>
      ({
        ...{ key: "load", task_id: "t", worker: null, attempt, epoch: attempt, outcome, reason },
        ...{ started_at: `2026-01-01T00:00:0${from}Z`, finished_at: `2026-01-01T00:00:0${to}Z` },
      }) as JobAttemptBody;

    expect(told([ran(2, "failed", "4", "5", "no room"), ran(1, "retried", "2", "3", "too busy")])).toEqual([
      "job failed",
      "load failed: no room",
      "load started, attempt 2",
      "load failed, will be retried: too busy",
      "load started",
      "read completed",
      "read started",
      "job was submitted",
    ]);
  });
});
