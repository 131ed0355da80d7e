import { Graph, layout as place } from "@dagrejs/dagre";
import { depthsOf, push } from "./model";

export const WIDTH = 196;
export const HEIGHT = 52;
const MOST_FOR_DAGRE = 400;
const MARGIN = 12;
const SWEEPS = 4;

export interface Point {
  x: number;
  y: number;
}

/** What is to be laid out: boxes by id, and arrows between them. */
export interface Shape {
  ids: string[];
  edges: { from: string; to: string }[];
}

/** Where the boxes are, and how large the whole is. */
export interface Placed {
  at: Map<string, Point>;
  width: number;
  height: number;
}

/** Give every box a place: by crossings where that takes seconds at most, by layers where there are too many. */
export function layout(shape: Shape): Placed {
  const at = shape.ids.length <= MOST_FOR_DAGRE ? byDagre(shape) : byLayers(shape);
  let [width, height] = [0, 0];
  for (const { x, y } of at.values()) {
    width = Math.max(width, x + WIDTH + MARGIN);
    height = Math.max(height, y + HEIGHT + MARGIN);
  }
  return { at, width, height };
}

function byDagre({ ids, edges }: Shape): Map<string, Point> {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 56, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const edge of edges) graph.setEdge(edge.from, edge.to);
  place(graph);
  return new Map(
    ids.map((id) => {
      const { x, y } = graph.node(id) as Point;
      return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
    }),
  );
}

/** Columns by the longest way from a root; within a column by where the neighbours are. */
function byLayers({ ids, edges }: Shape): Map<string, Point> {
  const depth = depthsOf(ids, edges);
  const columns: string[][] = [];
  for (const id of ids) {
    const column = depth.get(id) ?? 0;
    const list = columns[column];
    if (list) list.push(id);
    else columns[column] = [id];
  }
  const near = { down: new Map<string, string[]>(), up: new Map<string, string[]>() };
  for (const { from, to } of edges) {
    push(near.down, to, from);
    push(near.up, from, to);
  }
  const row = new Map<string, number>();
  for (const column of columns) sort(column, row, new Map());
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const column of isDown ? columns : [...columns].reverse()) sort(column, row, isDown ? near.down : near.up);
  }
  const at = new Map<string, Point>();
  for (const [place, column] of columns.entries()) {
    for (const id of column) {
      at.set(id, { x: MARGIN + place * (WIDTH + 56), y: MARGIN + (row.get(id) ?? 0) * (HEIGHT + 16) });
    }
  }
  return at;
}

/** Sort a column by the mean row of its neighbours, and number its rows. */
function sort(column: string[], row: Map<string, number>, near: Map<string, string[]>): void {
  const mean = new Map(
    column.map((id, place) => {
      const rows = (near.get(id) ?? []).map((other) => row.get(other) ?? 0);
      return [id, rows.length ? rows.reduce((sum, one) => sum + one, 0) / rows.length : (row.get(id) ?? place)];
    }),
  );
  column.sort((one, other) => (mean.get(one) ?? 0) - (mean.get(other) ?? 0));
  for (const [place, id] of column.entries()) row.set(id, place);
}
