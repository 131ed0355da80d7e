import { describe, expect, it } from "vitest";
import type { JobAttemptBody } from "@/api/types";
import type { Node } from "./model";
import { rowsOf } from "./waterfall";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const job = { created_at: at(0) };
const node = (key: string, needs: string[], from: number | null, to: number | null, status = "COMPLETED") =>
  ({
    key,
    name: "work",
    needs,
    status,
    attempt: 1,
    started_at: from === null ? null : at(from),
    finished_at: to === null ? null : at(to),
  }) as Node;
const attempt = (key: string, number: number, from: number, to: number, outcome: string) =>
  ({ key, attempt: number, started_at: at(from), finished_at: at(to), outcome }) as JobAttemptBody;
const drawn = (nodes: Node[], attempts: JobAttemptBody[] = []) =>
  rowsOf(job, nodes, attempts, new Map(), Date.parse(at(100))).map(
    (row) => `${row.label}: ${row.bars.map((bar) => `${bar.kind} ${(bar.to - bar.from) / 1000}`).join(", ")}`,
  );

describe("the rows of a job's timeline", () => {
  it("lets a task wait from when the last of those it needs had ended", () => {
    const nodes = [node("c", ["a", "b"], 9, 10), node("a", [], 1, 2), node("b", [], 2, 7)];
    expect(drawn(nodes)).toEqual(["a: waited 1, ran 1", "b: waited 2, ran 5", "c: waited 2, ran 1"]);
  });

  it("has every attempt, which the server lists the latest first", () => {
    const attempts = [attempt("a", 2, 5, 9, "completed"), attempt("a", 1, 1, 2, "retried")];
    expect(drawn([node("a", [], 5, 9)], attempts)).toEqual(["a: waited 1, ran 1, waited 3, ran 4"]);
  });

  it("shows what waits now, and leaves out what cannot start yet or was skipped", () => {
    const nodes = [
      node("a", [], null, null, "QUEUED"),
      node("b", ["a"], null, null, "PENDING"),
      node("c", [], null, 3, "SKIPPED"),
    ];
    expect(drawn(nodes)).toEqual(["a: waited 100"]);
  });

  it("marks how long the last attempt usually takes", () => {
    const [row] = rowsOf(job, [node("a", [], 5, 9)], [], new Map([["work", { p50: 1, p95: 2 }]]));
    expect(row?.usual).toEqual({ from: Date.parse(at(5)), p50: 1, p95: 2 });
  });
});
