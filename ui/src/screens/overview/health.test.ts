import { describe, expect, it } from "vitest";
import type { QueueBody, WorkerBody } from "@/api/types";
import { healthOf } from "./health";

const NOW = Date.parse("2026-01-02T03:04:05Z");
const WORKER = { id: "w-1" } as WorkerBody;

function queue(change: Partial<QueueBody> = {}): QueueBody {
  return {
    name: "mail",
    tenant: "default",
    pending: 0,
    queued: 0,
    processing: 0,
    oldest_due_at: null,
    oldest_served_due_at: change.oldest_due_at ?? null,
    unserved: 0,
    is_paused: false,
    reason: null,
    ...change,
  };
}

describe("the health sentence", () => {
  it("is calm when nothing is late", () => {
    expect(healthOf([queue()], [WORKER], undefined, NOW).tone).toBe("good");
  });

  it("names the queue that is furthest behind", () => {
    const late = queue({ queued: 5, oldest_due_at: "2026-01-02T03:00:05Z" });
    expect(healthOf([late], [WORKER], undefined, NOW).text).toBe("mail is 4 min behind.");
  });

  it("does not call a queue late for tasks that no worker can run, but says that there are some", () => {
    const stuck = queue({ queued: 6, unserved: 1, oldest_due_at: "2026-01-02T02:39:05Z", oldest_served_due_at: null });
    expect(healthOf([stuck], [WORKER], undefined, NOW)).toEqual({
      tone: "warn",
      text: "1 task is of a type that no worker runs. The other queues are keeping up.",
      queue: "mail",
    });
    const late = queue({ queued: 6, unserved: 1, oldest_due_at: "2026-01-02T02:39:05Z" });
    const served = { ...late, oldest_served_due_at: "2026-01-02T03:00:05Z" };
    expect(healthOf([served], [WORKER], undefined, NOW).text).toBe("mail is 4 min behind.");
  });

  it("cries when work waits and nobody works", () => {
    const waiting = queue({ queued: 5, oldest_due_at: "2026-01-02T03:04:04Z" });
    expect(healthOf([waiting], [], undefined, NOW).tone).toBe("bad");
  });

  it("does not take a paused queue for a late one", () => {
    const paused = queue({ queued: 5, oldest_due_at: "2026-01-01T00:00:00Z", is_paused: true });
    expect(healthOf([paused], [WORKER], undefined, NOW).text).toContain("Paused: mail");
  });
});
