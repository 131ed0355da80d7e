import { encode } from "@/api/numbers";
import { texts } from "@/texts";

/** A place in which two values differ; what one of them does not have is undefined. */
export interface Difference {
  path: string;
  before: string | undefined;
  after: string | undefined;
}

const MOST = 100;

/** Where two JSON values differ, at most so many places. */
export function differencesOf(before: unknown, after: unknown, most = MOST): Difference[] {
  const found: Difference[] = [];
  collect(before, after, "", found, most);
  return found;
}

function collect(before: unknown, after: unknown, path: string, found: Difference[], most: number): void {
  if (found.length >= most || Object.is(before, after)) return;
  if (isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    const [one, other] = [before as Record<string, unknown>, after as Record<string, unknown>];
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const at = Array.isArray(before) ? `${path}[${key}]` : path ? `${path}.${key}` : key;
      collect(one[key], other[key], at, found, most);
    }
    return;
  }
  const [one, other] = [textOf(before), textOf(after)];
  if (one !== other) found.push({ path: path || texts.parts.allOfIt, before: one, after: other });
}

function isBranch(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : encode(value);
}
