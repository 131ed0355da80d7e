import { describe, expect, it } from "vitest";
import type { KeyBody, QueueBody } from "@/api/types";
import { keysByTenant, loadByTenant } from "./load";

function queue(tenant: string, of: Partial<QueueBody>): QueueBody {
  return { tenant, pending: 0, queued: 0, processing: 0, oldest_due_at: null, is_paused: false, ...of } as QueueBody;
}

describe("the load of tenants", () => {
  it("is that of all their queues", () => {
    const loads = loadByTenant([
      queue("a", { queued: 2, pending: 3, oldest_due_at: "2026-11-18T10:00:00Z" }),
      queue("a", { processing: 4, is_paused: true, oldest_due_at: "2026-11-18T09:00:00Z" }),
      queue("b", { queued: 1 }),
    ]);

    expect(loads.get("a")).toEqual({ waiting: 5, running: 4, queues: 2, paused: 1, oldest: "2026-11-18T09:00:00Z" });
    expect(loads.get("b")?.oldest).toBeNull();
  });

  it("counts the keys that can be used", () => {
    const keys = [
      { tenant: "a", enabled: true, revoked_at: null },
      { tenant: "a", enabled: false, revoked_at: null },
      { tenant: "a", enabled: true, revoked_at: "2026-11-18T10:00:00Z" },
    ] as KeyBody[];

    expect(keysByTenant(keys).get("a")).toBe(1);
  });
});
