// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { AuditBody, WorkerBody } from "@/api/types";
import { marksOf } from "./marks";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const act = (act: string, queue: string, seconds: number, phase = "done") =>
  ({
    act,
    at: at(seconds),
    phase,
    target: `/api/v1/queues/${queue}/pause`,
    key_name: "ada",
    reason: null,
  }) as AuditBody;
const worker = (version: string, seconds: number, app_version = "", types: string[] = []) =>
  ({ version, app_version, opened_at: at(seconds), types }) as WorkerBody;

describe("the marks of a chart", () => {
  it("are pauses and new versions, in the order of their times", () => {
    const acts = [
      act("queue.resume", "mail", 30),
      act("queue.pause", "mail", 10),
      act("queue.pause", "slow", 5, "refused"),
    ];
    const workers = [worker("1.0", 0), worker("1.1", 20), worker("1.1", 25), worker("1.0", 3)];
    expect(marksOf(acts, workers, {}).map(({ text }) => text)).toEqual([
      "mail paused by ada",
      "Version 1.1 deployed",
      "mail resumed by ada",
    ]);
  });

  it("are the first workers of new versions of each application", () => {
    const workers = [
      worker("1.0", 0, "shop 1.4.1"),
      worker("1.0", 5, "billing 7"),
      worker("1.0", 20, "shop 1.4.2 rc1, billing 7"),
      worker("1.1", 30, "shop 1.4.2 rc1, billing 8"),
      worker("1.1", 10),
    ];
    expect(marksOf([], workers, {}).map(({ at, text }) => [new Date(at).getUTCSeconds(), text])).toEqual([
      [10, "Version 1.1 deployed"],
      [20, "shop 1.4.2 rc1 deployed"],
      [30, "billing 8 deployed"],
    ]);
  });

  it("are new versions of workers that name no application, too", () => {
    const workers = [worker("", 0, "3f2a1bc"), worker("", 9, "77aa001")];
    expect(marksOf([], workers, {}).map(({ text }) => text)).toEqual(["77aa001 deployed"]);
  });

  it("are those of one queue, where one is looked at", () => {
    expect(
      marksOf([act("queue.pause", "mail", 1), act("queue.pause", "slow", 2)], [], { queues: ["slow"] }),
    ).toHaveLength(1);
  });

  it("are the versions of workers that run the type, where one is looked at", () => {
    const workers = [worker("1.0", 0, "", ["a", "b"]), worker("1.1", 20, "", ["b"]), worker("1.2", 30, "", ["a"])];
    expect(marksOf([], workers, { type: "a" }).map(({ text }) => text)).toEqual(["Version 1.2 deployed"]);
  });
});
