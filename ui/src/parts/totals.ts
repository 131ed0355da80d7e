/** What is counted in one bucket of time. */
export interface Counted {
  submitted: number;
  completed: number;
  failed: number;
  run_p50: number | null;
  run_p95: number | null;
}

export interface Totals {
  submitted: number;
  ended: number;
  failed: number;
  /** The share of the tasks that ended which completed; nothing if none ended. */
  success: number | null;
  /** Durations in seconds: of all buckets, weighed by how many tasks ended in each. */
  p50: number | null;
  p95: number | null;
}

/** Counts of all buckets together. */
export function totalsOf(points: readonly Counted[]): Totals {
  const sum = (of: (point: Counted) => number) => points.reduce((total, point) => total + of(point), 0);
  const failed = sum((point) => point.failed);
  const ended = sum((point) => point.completed) + failed;
  const weighed = (of: (point: Counted) => number | null) => {
    const known = points.filter((point) => of(point) !== null && point.completed + point.failed > 0);
    const weight = known.reduce((total, point) => total + point.completed + point.failed, 0);
    if (weight === 0) return null;
    return known.reduce((total, point) => total + (of(point) ?? 0) * (point.completed + point.failed), 0) / weight;
  };
  return {
    submitted: sum((point) => point.submitted),
    ended,
    failed,
    success: ended ? (ended - failed) / ended : null,
    p50: weighed((point) => point.run_p50),
    p95: weighed((point) => point.run_p95),
  };
}
