import { describe, expect, it } from "vitest";
import type { JobBody } from "@/api/types";
import { historyOf } from "./history";
import type { Node } from "./model";

const job = { status: "FAILED", created_at: "2026-01-01T00:00:00Z", finished_at: "2026-01-01T00:00:05Z" } as JobBody;
const node = (key: string, more: Partial<Node>) =>
  ({ key, attempt: 1, status: "PENDING", started_at: null, finished_at: null, reason: null, ...more }) as Node;

describe("a job's history", () => {
  it("tells what happened, the latest first", () => {
    const nodes = [
      node("read", { status: "COMPLETED", started_at: "2026-01-01T00:00:01Z", finished_at: "2026-01-01T00:00:01Z" }),
      node("load", {
        status: "FAILED",
        attempt: 2,
        reason: "no room",
        started_at: "2026-01-01T00:00:04Z",
        finished_at: "2026-01-01T00:00:05Z",
      }),
      node("later", {}),
    ];
    expect(historyOf(job, nodes).map((one) => `${one.key ?? "job"} ${one.words}`)).toEqual([
      "job failed",
      "load failed: no room",
      "load started, attempt 2",
      "read completed",
      "read started",
      "job was submitted",
    ]);
  });
});
