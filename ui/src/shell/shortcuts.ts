import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { live } from "@/api/live";
import type { MeBody } from "@/api/types";
import { copy } from "@/parts/Copy";
import { say } from "@/parts/toasts";
import { currentPreferences, prefer } from "@/preferences";
import { texts } from "@/texts";
import { placesFor } from "./places";

/** What a screen can be asked to do: by one key, or by the command menu. */
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
  | "copyPageId"
  | "copyLink"
  | "previous"
  | "next"
  | "acknowledge"
  | "resolve"
  | "mute"
  | "run"
  | "pause";

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

/** What a key does; `true` if it did it, so that nothing else is done in its place. */
type Listener = () => unknown;
const listeners = new Map<Shortcut, Set<Listener>>();

/** Do something when its key is pressed, until the returned function is called. */
export function onShortcut(shortcut: Shortcut, act: Listener): () => void {
  const acts = listeners.get(shortcut) ?? new Set();
  listeners.set(shortcut, acts);
  acts.add(act);
  return () => acts.delete(act);
}

/** Do what a key would do on this page: what the page has for it, or else what rows of any list do. */
export function doShortcut(shortcut: Shortcut): void {
  if (!isDone(shortcut)) anywhere[shortcut]?.();
}

function isDone(shortcut: Shortcut): boolean {
  return [...(listeners.get(shortcut) ?? [])].map((act) => act()).includes(true);
}

export function useShortcut(shortcut: Shortcut, act: Listener): void {
  useEffect(() => onShortcut(shortcut, act), [shortcut, act]);
}

/** The links of the rows of lists that are no `Rows`: tables, tiles and cards. */
function rowLinks(): HTMLAnchorElement[] {
  return [...document.querySelectorAll<HTMLAnchorElement>("main :is(tbody th a, h2 a, a[data-row])")];
}

function focusedLink(): HTMLAnchorElement | undefined {
  return rowLinks().find((link) => link === document.activeElement);
}

/** Focus the link of the next row, or of the one before. */
function focusRow(step: 1 | -1): void {
  const links = rowLinks();
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}

/** Copy the id that the focused row leads to, or else that of the page. */
function copyFocusedId(): void {
  const id = focusedLink()?.pathname.split("/").at(-1);
  if (id) void copyId(decodeURIComponent(id));
  else isDone("copyPageId");
}

const anywhere: Partial<Record<Shortcut, () => void>> = {
  down: () => focusRow(1),
  up: () => focusRow(-1),
  open: () => focusedLink()?.click(),
  copyId: copyFocusedId,
  copyLink: () => void copyLink(),
};

/** Copy an id or a name, and say so. */
export async function copyId(id: string): Promise<void> {
  if (await copy(id)) say(texts.parts.copiedId(id));
}

async function copyLink(): Promise<void> {
  if (await copy(window.location.href)) say(texts.parts.copiedTheLink);
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
      else if (event.key in KEYS) doShortcut(KEYS[event.key] as Shortcut);
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
