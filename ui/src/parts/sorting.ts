import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

/** A column by which a list can be sorted. */
export interface Sortable<Item> {
  name: string;
  /** What rows are sorted by; null comes last, in either direction. */
  by?: (item: Item) => number | string | null;
}

export interface Sort {
  column: string;
  isDown: boolean;
}

/** The next sort when a heading is pressed: down, up, and as the list came. */
export function nextSort(sort: Sort | null, column: string): Sort | null {
  if (sort?.column !== column) return { column, isDown: true };
  return sort.isDown ? { column, isDown: false } : null;
}

/** A sort as the address has it: "Duration" upwards, "-Duration" downwards. */
export function sortText(sort: Sort | null): string | undefined {
  return sort ? `${sort.isDown ? "-" : ""}${sort.column}` : undefined;
}

/** The sort that the address names, if there is such a column. */
export function sortFrom(text: string | undefined, columns: readonly Sortable<never>[]): Sort | null {
  const column = columns.find(({ name, by }) => by && name === text?.replace(/^-/, ""))?.name;
  return column ? { column, isDown: text?.startsWith("-") ?? false } : null;
}

export function sorted<Item>(items: Item[], columns: readonly Sortable<Item>[], sort: Sort | null): Item[] {
  const by = columns.find(({ name }) => name === sort?.column)?.by;
  if (!by || !sort) return items;
  const sign = sort.isDown ? -1 : 1;
  return [...items].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b);
  });
}

/** The loaded rows of a list in the order that was chosen, which the address keeps. Rows that change keep their places until others are loaded. */
export function useSorted<Item>(items: Item[], columns: readonly Sortable<Item>[], keyOf: (item: Item) => string) {
  const text = useRouterState({ select: (state) => (state.location.search as { sort?: string }).sort });
  const navigate = useNavigate();
  const sort = useMemo(() => sortFrom(text, columns), [text, columns]);
  const keys = sort ? items.map(keyOf).join() : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: an order by values that change would let rows jump
  const order = useMemo(() => (sort ? sorted(items, columns, sort).map(keyOf) : null), [sort, keys, columns]);
  const shown = useMemo(() => {
    if (order === null) return items;
    const found = new Map(items.map((item) => [keyOf(item), item]));
    return order.map((key) => found.get(key)).filter((item) => item !== undefined);
  }, [order, items, keyOf]);
  const onSort = useCallback(
    (column: string) => {
      const next = sortText(nextSort(sort, column));
      void navigate({
        to: ".",
        search: (({ sort: _sort, ...before }: { sort?: string }) => ({
          ...before,
          ...(next ? { sort: next } : {}),
        })) as never,
        replace: true,
      });
    },
    [navigate, sort],
  );
  return { shown, sort, onSort };
}
