import type { NodeBody } from "@/api/types";
import { texts } from "@/texts";

/** A job's graph as it is drawn: alike tasks side by side are one stack, so that wide jobs stay readable. */

export type Node = NodeBody;

/** One box of the drawing: a task, or a stack of tasks that are alike. */
export interface Box {
  id: string;
  nodes: Node[];
  title: string;
}

export interface Drawing {
  boxes: Box[];
  edges: { from: string; to: string; isCritical: boolean }[];
}

/** How far a map is, in words. */
export function itemsOf({ ended, total, failed }: NonNullable<Node["items"]>): string {
  return texts.job.endedOf(ended, total, failed);
}

export const STACK_FROM = 4;

/** More tasks than this are drawn by type at first. */
export const GROUP_FROM = 200;

/**
 * Put tasks together that have the same name, the same parents and the same children; if `isGrouped`, those of the same
 * name and the same distance from the roots, which leaves the graph without cycles, too.
 */
export function draw(nodes: Node[], open: ReadonlySet<string>, isGrouped = false): Drawing {
  const alike = new Map<string, Node[]>();
  const familyOf = isGrouped ? byDepth(nodes) : byKin(nodes);
  for (const node of nodes) push(alike, familyOf(node), node);
  const boxOf = new Map<string, Box>();
  const boxes: Box[] = [];
  for (const group of alike.values()) {
    const id = `stack:${group[0]?.key}`;
    if (group.length >= STACK_FROM && !open.has(id)) add({ id, nodes: group, title: group[0]?.name ?? "" });
    else for (const node of group) add({ id: node.key, nodes: [node], title: node.key });
  }
  function add(box: Box): void {
    boxes.push(box);
    for (const node of box.nodes) boxOf.set(node.key, box);
  }
  const edges = new Map<string, Drawing["edges"][number]>();
  for (const node of nodes) {
    for (const parent of node.needs) {
      const [from, to] = [boxOf.get(parent), boxOf.get(node.key)];
      if (!from || !to) continue;
      const isCritical = node.is_critical && from.nodes.some((one) => one.key === parent && one.is_critical);
      const known = edges.get(`${from.id}\u0000${to.id}`);
      edges.set(`${from.id}\u0000${to.id}`, {
        from: from.id,
        to: to.id,
        isCritical: isCritical || (known?.isCritical ?? false),
      });
    }
  }
  return { boxes, edges: [...edges.values()] };
}

function byKin(nodes: Node[]): (node: Node) => string {
  const children = new Map<string, string[]>();
  for (const node of nodes) for (const parent of node.needs) push(children, parent, node.key);
  return (node) =>
    [[...node.needs].sort().join("\n"), (children.get(node.key) ?? []).sort().join("\n"), node.name].join("\u0000");
}

function byDepth(nodes: Node[]): (node: Node) => string {
  const depth = depthsOf(
    nodes.map((node) => node.key),
    nodes.flatMap((node) => node.needs.map((parent) => ({ from: parent, to: node.key }))),
  );
  return (node) => `${depth.get(node.key) ?? 0}\u0000${node.name}`;
}

/** How far each is from the roots, by the longest way. */
export function depthsOf(ids: string[], edges: { from: string; to: string }[]): Map<string, number> {
  const children = new Map<string, string[]>();
  const waiting = new Map(ids.map((id) => [id, 0]));
  for (const { from, to } of edges) {
    push(children, from, to);
    waiting.set(to, (waiting.get(to) ?? 0) + 1);
  }
  const ready = ids.filter((id) => waiting.get(id) === 0);
  const depth = new Map(ready.map((id) => [id, 0]));
  for (const id of ready) {
    for (const child of children.get(id) ?? []) {
      depth.set(child, Math.max(depth.get(child) ?? 0, (depth.get(id) ?? 0) + 1));
      const left = (waiting.get(child) ?? 1) - 1;
      waiting.set(child, left);
      if (left === 0) ready.push(child);
    }
  }
  return depth;
}

export function push<V>(map: Map<string, V[]>, key: string, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

const ORDER = ["FAILED", "PROCESSING", "QUEUED", "PENDING", "CANCELLED", "SKIPPED", "COMPLETED"];

/** The status that matters most in a stack. */
export function statusOf(box: Box): string {
  return ORDER.find((status) => box.nodes.some((node) => node.status === status)) ?? "PENDING";
}

/** How many of a stack stand where, the most pressing first. */
export function countsOf(nodes: Node[]): [string, number][] {
  return ORDER.map((status): [string, number] => [
    status,
    nodes.filter((node) => node.status === status).length,
  ]).filter(([, count]) => count > 0);
}
