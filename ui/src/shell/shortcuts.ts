import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { live } from "@/api/live";
import type { MeBody } from "@/api/types";
import { currentPreferences, prefer } from "@/preferences";
import { placesFor } from "./places";

/** What a screen can be asked to do by one key. */
export type Shortcut =
  | "search"
  | "down"
  | "up"
  | "open"
  | "select"
  | "selectRange"
  | "all"
  | "retry"
  | "cancel"
  | "copyId"
  | "copyLink"
  | "previous"
  | "next";

export const KEYS: Record<string, Shortcut> = {
  "/": "search",
  j: "down",
  k: "up",
  o: "open",
  Enter: "open",
  x: "select",
  X: "selectRange",
  a: "all",
  r: "retry",
  c: "cancel",
  y: "copyId",
  Y: "copyLink",
  "[": "previous",
  "]": "next",
};

const listeners = new Map<Shortcut, Set<() => void>>();

/** Do something when its key is pressed, until the returned function is called. */
export function onShortcut(shortcut: Shortcut, act: () => void): () => void {
  const acts = listeners.get(shortcut) ?? new Set();
  listeners.set(shortcut, acts);
  acts.add(act);
  return () => acts.delete(act);
}

/** Do what a key would do on this page. */
export function doShortcut(shortcut: Shortcut): void {
  for (const act of listeners.get(shortcut) ?? []) act();
}

export function useShortcut(shortcut: Shortcut, act: () => void): void {
  useEffect(() => onShortcut(shortcut, act), [shortcut, act]);
}

/** The keys that work everywhere. They never fire while somebody types, and can be turned off. */
export function useShortcuts({ help, palette }: { help: () => void; palette: () => void }): void {
  const navigate = useNavigate();
  const client = useQueryClient();
  useEffect(() => {
    let isGoing = false;
    function onKey(event: KeyboardEvent) {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        palette();
        return;
      }
      if (!currentPreferences().shortcuts || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (isGoing) {
        isGoing = false;
        // Nobody is asked here whose key it is: this runs before anybody has signed in, too.
        const place = placesFor(client.getQueryData<MeBody>(["me"])).find((one) => one.key === event.key);
        if (place) void navigate({ to: place.to });
        return;
      }
      if (event.key === "Enter" && !isOnPage(event)) return;
      const act = acts[event.key];
      if (act) act();
      else if (event.key in KEYS) for (const one of listeners.get(KEYS[event.key] as Shortcut) ?? []) one();
      else return;
      event.preventDefault();
    }
    const acts: Record<string, () => void> = {
      g: () => {
        isGoing = true;
        setTimeout(() => {
          isGoing = false;
        }, 1500);
      },
      "?": help,
      ".": () => live.togglePause(),
      z: () => prefer({ zone: currentPreferences().zone === "utc" ? "local" : "utc" }),
      t: () => prefer({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }),
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate, client, help, palette]);
}

/** Whether nothing that answers to a key by itself has the focus. */
function isOnPage(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !target || target === document.body || target.matches("main,[role=rowgroup]");
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return Boolean(target?.closest("input:not([type=checkbox]),textarea,select,[contenteditable],dialog"));
}
