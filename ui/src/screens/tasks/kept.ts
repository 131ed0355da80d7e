/** Searches that somebody gave a name to, kept in this browser. Each is an address, so that it can be handed on. */
import { useSyncExternalStore } from "react";
import { type TaskSearch, WORDS } from "@/search";

export interface View {
  name: string;
  search: TaskSearch;
}

const KEY = "drumline.views";
const MOST = 30;
const listeners = new Set<() => void>();
let views: readonly View[] = load();

function load(): readonly View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.flatMap(read) : [];
  } catch {
    return [];
  }
}

function read(value: unknown): View[] {
  const { name, search } = (value ?? {}) as Partial<View>;
  if (typeof name !== "string" || typeof search !== "object" || search === null) return [];
  const words = WORDS.flatMap((word) => (typeof search[word] === "string" ? [[word, search[word]]] : []));
  return [{ name, search: Object.fromEntries(words) as TaskSearch }];
}

function keep(next: readonly View[]): void {
  views = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
  for (const listener of listeners) listener();
}

/** Keep a search under a name; the same name replaces. */
export function keepView(name: string, search: TaskSearch): void {
  keep([...views.filter((view) => view.name !== name), { name, search }].slice(-MOST));
}

export function dropView(name: string): void {
  keep(views.filter((view) => view.name !== name));
}

export function useViews(): readonly View[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => views,
  );
}
