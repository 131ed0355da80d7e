import type { Node } from "@/screens/job/model";
import { secondsOf } from "@/screens/runs/grid";

/** A task in two runs of a job. */
export interface Compared {
  key: string;
  name: string;
  before: Node | null;
  after: Node | null;
  seconds: [before: number | null, after: number | null];
  /** How much longer it took, in seconds; nothing unless it ran in both. */
  longer: number | null;
}

/** The tasks of two runs, those first that ended otherwise, then those whose time changed most. */
export function compared(before: readonly Node[], after: readonly Node[], now = Date.now()): Compared[] {
  const [one, other] = [byKey(before), byKey(after)];
  const keys = [...new Set([...one.keys(), ...other.keys()])];
  return keys.map((key) => pair(key, one.get(key) ?? null, other.get(key) ?? null, now)).sort(byWeight);
}

function pair(key: string, before: Node | null, after: Node | null, now: number): Compared {
  const seconds = [before, after].map((node) => (node ? secondsOf(node.started_at, node.finished_at, now) : null));
  const [was, is] = [seconds[0] ?? null, seconds[1] ?? null];
  const longer = was === null || is === null ? null : is - was;
  return { key, name: (after ?? before)?.name ?? "", before, after, seconds: [was, is], longer };
}

export function isOtherwise({ before, after }: Compared): boolean {
  return before?.status !== after?.status;
}

function byWeight(one: Compared, other: Compared): number {
  return (
    Number(isOtherwise(other)) - Number(isOtherwise(one)) || Math.abs(other.longer ?? 0) - Math.abs(one.longer ?? 0)
  );
}

function byKey(nodes: readonly Node[]): Map<string, Node> {
  return new Map(nodes.map((node) => [node.key, node]));
}
