import { describe, expect, it } from "vitest";
import { layout } from "./layout";
import { countsOf, draw, type Node, statusOf } from "./model";

function node(key: string, needs: string[] = [], name = key, status = "PENDING"): Node {
  return {
    key,
    needs,
    name,
    status: status as Node["status"],
    task_id: key,
    started_at: null,
    finished_at: null,
    attempt: 0,
    reason: null,
    cause: null,
    run_if: "all_succeeded",
    is_critical: false,
    slack: 0,
  };
}

const WIDE = [
  node("a"),
  ...Array.from({ length: 5_000 }, (_, n) => node(`w${n}`, ["a"], "work")),
  node(
    "z",
    Array.from({ length: 5_000 }, (_, n) => `w${n}`),
  ),
];

describe("the drawing of a job", () => {
  it("stacks what is alike", () => {
    const { boxes, edges } = draw(WIDE, new Set());
    expect(boxes.map((box) => box.nodes.length)).toEqual([1, 5_000, 1]);
    expect(edges).toHaveLength(2);
  });

  it("opens a stack when asked", () => {
    const nodes = WIDE.slice(0, 6);
    expect(draw(nodes, new Set(["stack:w0"])).boxes).toHaveLength(6);
  });

  it("shows the most pressing status of a stack", () => {
    const nodes = [node("a", [], "x", "COMPLETED"), node("b", [], "x", "FAILED")];
    expect(statusOf({ id: "s", nodes, title: "x" })).toBe("FAILED");
    expect(countsOf(nodes)).toEqual([
      ["FAILED", 1],
      ["COMPLETED", 1],
    ]);
  });

  it("places parents before children, in small graphs and in large ones", () => {
    for (const size of [10, 1_000]) {
      const nodes = Array.from({ length: size }, (_, n) => node(`n${n}`, n < 3 ? [] : [`n${n - 1}`, `n${n - 3}`]));
      const drawing = draw(nodes, new Set());
      const { at } = layout(drawing);
      for (const edge of drawing.edges) expect(at.get(edge.from)?.x).toBeLessThan(at.get(edge.to)?.x ?? 0);
    }
  });
});
