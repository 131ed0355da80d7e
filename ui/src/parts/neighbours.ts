import { useEffect } from "react";

/** The lists that were looked at last, by place: what is before and after a thing is by the list that one came from. */
const lists = new Map<string, readonly string[]>();

/** Remember the ids of a list, in its order, while pages of single things are looked at. */
export function useRemembered(place: string, ids: readonly string[]): void {
  useEffect(() => {
    if (ids.length > 0) lists.set(place, ids);
  });
}

export interface Neighbours {
  before: string | null;
  after: string | null;
  /** Which it is, from one on, and of how many. */
  number: number;
  count: number;
}

/** What is beside a thing in the list that was looked at last; nothing if it is not in it. */
export function neighboursOf(place: string, id: string): Neighbours | null {
  const ids = lists.get(place) ?? [];
  const at = ids.indexOf(id);
  if (at < 0) return null;
  return { before: ids[at - 1] ?? null, after: ids[at + 1] ?? null, number: at + 1, count: ids.length };
}

/** Forget every list: somebody else has signed in. */
export function forgetLists(): void {
  lists.clear();
}
