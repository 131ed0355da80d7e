import { Graph, layout as place } from "@dagrejs/dagre";
import type { Drawing } from "./model";

export const WIDTH = 196;
export const HEIGHT = 52;
const MOST_FOR_DAGRE = 400;

export interface Placed {
  at: Map<string, { x: number; y: number }>;
  paths: { id: string; d: string; isCritical: boolean }[];
  width: number;
  height: number;
}

/** Give every box a place: by crossings where that is quick, by layers alone where there are too many. */
export function layout(drawing: Drawing): Placed {
  return drawing.boxes.length <= MOST_FOR_DAGRE ? byDagre(drawing) : byLayers(drawing);
}

function byDagre({ boxes, edges }: Drawing): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 56, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.id, { width: WIDTH, height: HEIGHT });
  for (const edge of edges) graph.setEdge(edge.from, edge.to);
  place(graph);
  const at = new Map(boxes.map((box) => [box.id, corner(graph.node(box.id) as { x: number; y: number })]));
  return finish(at, edges);
}

/** Columns by the longest way from a root; within a column in the given order. */
function byLayers({ boxes, edges }: Drawing): Placed {
  const parents = new Map<string, string[]>();
  for (const edge of edges) parents.set(edge.to, [...(parents.get(edge.to) ?? []), edge.from]);
  const depth = new Map<string, number>();
  const waiting = new Map(boxes.map((box) => [box.id, parents.get(box.id)?.length ?? 0]));
  const children = new Map<string, string[]>();
  for (const edge of edges) children.set(edge.from, [...(children.get(edge.from) ?? []), edge.to]);
  const ready = boxes.filter((box) => waiting.get(box.id) === 0).map((box) => box.id);
  for (const id of ready) depth.set(id, 0);
  for (let next = 0; next < ready.length; next++) {
    const id = ready[next] as string;
    for (const child of children.get(id) ?? []) {
      depth.set(child, Math.max(depth.get(child) ?? 0, (depth.get(id) ?? 0) + 1));
      const left = (waiting.get(child) ?? 1) - 1;
      waiting.set(child, left);
      if (left === 0) ready.push(child);
    }
  }
  const filled = new Map<number, number>();
  const at = new Map<string, { x: number; y: number }>();
  for (const box of boxes) {
    const column = depth.get(box.id) ?? 0;
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    at.set(box.id, { x: 12 + column * (WIDTH + 56), y: 12 + row * (HEIGHT + 16) });
  }
  return finish(at, edges);
}

function corner({ x, y }: { x: number; y: number }): { x: number; y: number } {
  return { x: x - WIDTH / 2, y: y - HEIGHT / 2 };
}

function finish(at: Map<string, { x: number; y: number }>, edges: Drawing["edges"]): Placed {
  let [width, height] = [0, 0];
  for (const { x, y } of at.values()) {
    width = Math.max(width, x + WIDTH + 12);
    height = Math.max(height, y + HEIGHT + 12);
  }
  const paths = edges.map((edge) => {
    const [from, to] = [at.get(edge.from), at.get(edge.to)];
    const [x1, y1] = [(from?.x ?? 0) + WIDTH, (from?.y ?? 0) + HEIGHT / 2];
    const [x2, y2] = [to?.x ?? 0, (to?.y ?? 0) + HEIGHT / 2];
    const bend = Math.max(24, (x2 - x1) / 2);
    return {
      id: `${edge.from}\u0000${edge.to}`,
      d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`,
      isCritical: edge.isCritical,
    };
  });
  return { at, paths, width, height };
}
