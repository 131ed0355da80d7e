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
const worker = (version: string, seconds: number, types: string[] = []) =>
  ({ version, opened_at: at(seconds), types }) as WorkerBody;

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

  it("are those of one queue, where one is looked at", () => {
    expect(
      marksOf([act("queue.pause", "mail", 1), act("queue.pause", "slow", 2)], [], { queues: ["slow"] }),
    ).toHaveLength(1);
  });

  it("are the versions of workers that run the type, where one is looked at", () => {
    const workers = [worker("1.0", 0, ["a", "b"]), worker("1.1", 20, ["b"]), worker("1.2", 30, ["a"])];
    expect(marksOf([], workers, { type: "a" }).map(({ text }) => text)).toEqual(["Version 1.2 deployed"]);
  });
});
