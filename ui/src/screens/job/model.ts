import type { NodeBody } from "@/api/types";

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

export const STACK_FROM = 4;

/** Put tasks together that have the same name, the same parents and the same children. */
export function draw(nodes: Node[], open: ReadonlySet<string>): Drawing {
  const children = new Map<string, string[]>();
  for (const node of nodes) for (const parent of node.needs) push(children, parent, node.key);
  const alike = new Map<string, Node[]>();
  for (const node of nodes) {
    const family = [[...node.needs].sort().join("\n"), (children.get(node.key) ?? []).sort().join("\n"), node.name];
    push(alike, family.join("\u0000"), node);
  }
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

function push<V>(map: Map<string, V[]>, key: string, value: V): void {
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
