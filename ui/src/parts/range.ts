/** A stretch of time as terms of a filter, so that links, saved views, exports and bulk operations mean the same by it. */

export interface Range {
  /** Times such as "2026-11-18T14:02:00Z". */
  from: string;
  until: string;
}

/** The fields that are compared with the ends of a range. */
export interface Ends {
  from: string;
  until: string;
}

export const SUBMITTED: Ends = { from: "created", until: "created" };
/** A cause of failures was seen within a range if it began before its end, and was seen after its start. */
export const SEEN: Ends = { from: "last", until: "first" };

const TIME = String.raw`(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)`;

function patternOf(ends: Ends): RegExp {
  return new RegExp(String.raw`(?:^|\s)${ends.from}>=${TIME} ${ends.until}<${TIME}(?=\s|$)`);
}

/** The range that was chosen, if the filter has one. */
export function rangeOf(filter: string | undefined, ends: Ends): Range | null {
  const [, from, until] = patternOf(ends).exec(filter ?? "") ?? [];
  return from && until ? { from, until } : null;
}

/** The filter with another range, or without one. */
export function withRange(filter: string | undefined, ends: Ends, range: Range | null): string {
  const rest = (filter ?? "").replace(patternOf(ends), "").trim();
  return range ? `${rest} ${ends.from}>=${range.from} ${ends.until}<${range.until}`.trim() : rest;
}

/** A time as a filter has it. */
export function written(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}
