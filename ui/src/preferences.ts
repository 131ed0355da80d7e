/** What a person has chosen, kept in this browser. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export type Density = "regular" | "compact";
export type Zone = "local" | "utc";

interface Preferences {
  theme: Theme;
  zone: Zone;
  shortcuts: boolean;
  rail: "wide" | "narrow";
  density: Density;
  /** The columns that are left out, by the name of their list; its extra columns until any are chosen. */
  hidden: Readonly<Record<string, readonly string[]>>;
}

const DEFAULTS: Preferences = {
  theme: "system",
  zone: "local",
  shortcuts: true,
  rail: "wide",
  density: "regular",
  hidden: {},
};
const listeners = new Set<() => void>();
let preferences: Preferences = load();

function load(): Preferences {
  try {
    const kept = JSON.parse(localStorage.getItem("drumline.preferences") ?? "{}") as Partial<Preferences>;
    return { ...DEFAULTS, ...kept };
  } catch {
    return DEFAULTS;
  }
}

export function prefer(change: Partial<Preferences>): void {
  preferences = { ...preferences, ...change };
  try {
    localStorage.setItem("drumline.preferences", JSON.stringify(preferences));
    localStorage.setItem("drumline.theme", preferences.theme); // read by theme.js before the first paint
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
  showTheme();
  for (const listener of listeners) listener();
}

export function showTheme(): void {
  if (preferences.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = preferences.theme;
}

export function currentPreferences(): Preferences {
  return preferences;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => preferences,
  );
}

/** The columns of a list that are left out. */
export function useHidden(label: string, columns: readonly { name: string; isExtra?: boolean }[]): readonly string[] {
  const { hidden } = usePreferences();
  return hidden[label] ?? columns.filter(({ isExtra }) => isExtra).map(({ name }) => name);
}
