import type { PointBody } from "@/api/types";

/**
 * How many tasks were open at the end of each bucket, reckoned backwards from how many are open now by what came and
 * went since. What was retried by hand came back without being counted as submitted, so it never falls below nothing.
 */
export function depthOf(points: PointBody[], open: number | null): (number | null)[] {
  if (open === null) return points.map(() => null);
  const depths: number[] = [];
  let depth = open;
  for (const point of [...points].reverse()) {
    depths.push(Math.max(0, depth));
    depth -= point.submitted - point.completed - point.failed - point.cancelled - point.skipped;
  }
  return depths.reverse();
}
