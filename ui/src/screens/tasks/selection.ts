import { useCallback, useState } from "react";
import type { TaskBody } from "@/api/types";
import { copy } from "@/parts/Copy";
import { say } from "@/parts/toasts";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";

/** The row that is current, the rows that are selected, and the keys for both. */
export function useSelection(items: TaskBody[], open: (task: TaskBody) => void, canTakeAll: boolean) {
  const [current, setCurrent] = useState(-1);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setEvery] = useState(false);
  const [anchor, setAnchor] = useState<string | null>(null);

  const none = useCallback(() => {
    setSelected(new Set());
    setEvery(false);
  }, []);
  // A search that goes by the time of day would not mean the same a moment later: then all rows that are there are meant.
  const takeAll = useCallback(() => {
    if (canTakeAll) setEvery(true);
    else setSelected(new Set(items.map((task) => task.id)));
  }, [canTakeAll, items]);
  const select = useCallback(
    (id: string, isRange: boolean) => {
      setEvery(false);
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
    "down",
    useCallback(() => setCurrent((place) => Math.min(place + 1, items.length - 1)), [items.length]),
  );
  useShortcut(
    "up",
    useCallback(() => setCurrent((place) => Math.max(place - 1, 0)), []),
  );
  useShortcut(
    "open",
    useCallback(() => here && open(here), [here, open]),
  );
  useShortcut(
    "select",
    useCallback(() => here && select(here.id, false), [here, select]),
  );
  useShortcut(
    "selectRange",
    useCallback(() => here && select(here.id, true), [here, select]),
  );
  useShortcut("all", takeAll);
  useShortcut(
    "copyId",
    useCallback(() => {
      if (here) void copy(here.id).then((isDone) => isDone && say(texts.tasks.copiedTheId));
    }, [here]),
  );
  return { current, setCurrent, selected, select, isAll, takeAll, none };
}
