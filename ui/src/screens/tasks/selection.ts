import { useCallback, useState } from "react";
import type { TaskBody } from "@/api/types";
import { useShortcut } from "@/shell/shortcuts";

/** The row that is current, the rows that are selected, and the keys for both. */
export function useSelection(items: TaskBody[]) {
  const [current, setCurrent] = useState(-1);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  /** When all that match were selected: what they match is counted back from then. */
  const [allAt, setAllAt] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<string | null>(null);

  const none = useCallback(() => {
    setSelected(new Set());
    setAllAt(null);
  }, []);
  const takeAll = useCallback(() => setAllAt(Date.now()), []);
  const select = useCallback(
    (id: string, isRange: boolean) => {
      setAllAt(null);
      setSelected((before) => {
        const next = new Set(before);
        const [from, to] = [items.findIndex((task) => task.id === anchor), items.findIndex((task) => task.id === id)];
        if (isRange && from >= 0) {
          for (const task of items.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(task.id);
        } else if (!next.delete(id)) next.add(id);
        return next;
      });
      setAnchor(id);
    },
    [items, anchor],
  );
  const here = items[current];
  useShortcut(
    "select",
    useCallback(() => here && select(here.id, false), [here, select]),
  );
  useShortcut(
    "selectRange",
    useCallback(() => here && select(here.id, true), [here, select]),
  );
  useShortcut("all", takeAll);
  return { current, setCurrent, selected, select, allAt, takeAll, none };
}
