import { span } from "./time";

/** A stretch of time, in milliseconds since 1970. */
export interface Stretch {
  from: number;
  to: number;
}

/** An axis of time from left to right: where a moment is, from 0 to 1. */
export interface Axis {
  at: (time: number) => number;
  /** Stretches in which nothing happened that are drawn shorter than they were. */
  breaks: Stretch[];
  ticks: { at: number; label: string }[];
}

/** Idle time is drawn shorter if it is longer than this share of the busy time, and then has this share of it. */
const [LONG_GAP, GAP] = [0.4, 0.06];
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/** An axis over all of some stretches. If `isShort`, long times in which none of them was are drawn short. */
export function axisOf(all: readonly Stretch[], busy: readonly Stretch[], isShort: boolean): Axis {
  const from = all.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY);
  const to = all.reduce((most, { to }) => Math.max(most, to), from + 1);
  const pieces = isShort ? piecesOf(merged(busy), from, to) : [{ from, to, size: to - from, isBreak: false }];
  const total = pieces.reduce((sum, { size }) => sum + size, 0);
  const at = (time: number) => {
    let before = 0;
    for (const piece of pieces) {
      if (time <= piece.to) {
        const length = piece.to - piece.from;
        const share = length > 0 ? Math.max(0, time - piece.from) / length : 0;
        return (before + share * piece.size) / total;
      }
      before += piece.size;
    }
    return 1;
  };
  const timeAt = (share: number) => {
    let left = share * total;
    for (const piece of pieces) {
      if (left <= piece.size && piece.size > 0) return piece.from + (left / piece.size) * (piece.to - piece.from);
      left -= piece.size;
    }
    return to;
  };
  const labels = labelsOf(TICKS.map((share) => (timeAt(share) - from) / 1000));
  return {
    at,
    breaks: pieces.filter(({ isBreak }) => isBreak).map(({ from, to }) => ({ from, to })),
    ticks: TICKS.map((share, place) => ({ at: share, label: labels[place] ?? "" })),
  };
}

/** Times after the first in words, as exact as it takes to tell them apart. */
function labelsOf(seconds: readonly number[]): string[] {
  const written = [span, ...[1, 2, 3].map((digits) => (time: number) => `${time.toFixed(digits)} s`)];
  const tried = written.map((write) => ["0", ...seconds.slice(1).map(write)]);
  return tried.find((labels) => new Set(labels).size === labels.length) ?? tried[0] ?? [];
}

interface Piece extends Stretch {
  size: number;
  isBreak: boolean;
}

function piecesOf(busy: Stretch[], from: number, to: number): Piece[] {
  const total = busy.reduce((sum, one) => sum + one.to - one.from, 0);
  const pieces: Piece[] = [];
  let last = from;
  const idle = (until: number) => {
    const length = until - last;
    const isBreak = total > 0 && length > LONG_GAP * total;
    if (length > 0) pieces.push({ from: last, to: until, size: isBreak ? GAP * total : length, isBreak });
  };
  for (const one of busy) {
    idle(one.from);
    pieces.push({ ...one, size: one.to - one.from, isBreak: false });
    last = one.to;
  }
  idle(to);
  return pieces;
}

/** Stretches in order, those that touch as one. */
function merged(stretches: readonly Stretch[]): Stretch[] {
  const found: Stretch[] = [];
  for (const one of [...stretches].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && one.from <= last.to) last.to = Math.max(last.to, one.to);
    else found.push({ ...one });
  }
  return found;
}
