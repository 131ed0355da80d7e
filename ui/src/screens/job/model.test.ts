import { describe, expect, it } from "vitest";
import { layout } from "./layout";
import { countsOf, depthsOf, draw, itemsOf, type Node, statusOf } from "./model";

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
    items: null,
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

describe("the items of a map", () => {
  it("are told as ended of all, with those that failed", () => {
    expect(itemsOf({ total: 10, ended: 3, failed: 0 })).toBe("3 of 10");
    expect(itemsOf({ total: 10, ended: 3, failed: 1 })).toBe("3 of 10, 1 failed");
  });
});

describe("the drawing of a job", () => {
  it("stacks what is alike", () => {
    const { boxes, edges } = draw(WIDE, new Set());
    expect(boxes.map((box) => box.nodes.length)).toEqual([1, 5_000, 1]);
    expect(edges).toHaveLength(2);
  });

  it("groups by type and distance from the roots, without cycles", () => {
    const nodes = Array.from({ length: 300 }, (_, n) =>
      node(`n${n}`, n < 100 ? [] : [`n${n - 100}`, `n${100 * Math.floor(n / 100 - 1) + ((n * 7) % 100)}`], `t${n % 5}`),
    );
    const { boxes, edges } = draw(nodes, new Set(), true);
    expect(boxes).toHaveLength(15);
    const depth = depthsOf(
      boxes.map((box) => box.id),
      edges,
    );
    for (const { from, to } of edges) expect(depth.get(from)).toBeLessThan(depth.get(to) ?? 0);
    expect(draw(nodes, new Set([boxes[0]?.id ?? ""]), true).boxes).toHaveLength(14 + 20);
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
      const { at } = layout({ ids: drawing.boxes.map((box) => box.id), edges: drawing.edges });
      for (const edge of drawing.edges) expect(at.get(edge.from)?.x).toBeLessThan(at.get(edge.to)?.x ?? 0);
    }
  });
});
