import { describe, expect, it } from "vitest";
import { targetOf } from "./target";

const ID = "01a1eb9b-7a35-75fc-874c-ff9d0d0613ee";

describe("the target of an audit entry", () => {
  it("has the name that people gave it, and leads to its page", () => {
    const created = { target: "/api/v1/schedules", before: null, after: { id: ID, name: "stock taking" } };
    expect(targetOf(created)).toEqual({
      kind: "schedule",
      name: "stock taking",
      to: "/schedules/$id",
      params: { id: ID },
    });
    const revoked = { target: `/api/v1/keys/${ID}/revoke`, before: { id: ID, name: "former" }, after: null };
    expect(targetOf(revoked)).toEqual({ kind: "key", name: "former", to: "/keys" });
  });

  it("is what the address says where nothing else is known", () => {
    const paused = { target: "/api/v1/queues/news%20letter/pause", before: null, after: { is_paused: true } };
    expect(targetOf(paused)).toEqual({
      kind: "queue",
      name: "news letter",
      to: "/queues/$name",
      params: { name: "news letter" },
    });
    expect(targetOf({ target: `/api/v1/tasks/${ID}/cancel`, before: null, after: null })).toEqual({
      kind: "task",
      name: ID,
      to: "/tasks/$id",
      params: { id: ID },
    });
    const ignored = { target: "/api/v1/failures/groups/e677ad", before: null, after: null };
    expect(targetOf(ignored)).toMatchObject({ to: "/failures/$fingerprint", params: { fingerprint: "e677ad" } });
    expect(targetOf({ target: "/api/v1/failures/retry", before: null, after: null }).to).toBeNull();
    expect(targetOf({ target: "/api/v1/%E0%A4%A", before: null, after: null }).name).toBe("");
  });
});
