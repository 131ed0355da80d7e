import { UI_PATH } from "@/api/place";

const KEY = "drumline.reloaded";
const AGAIN_MS = 10_000;

/**
 * Load the page anew when a part of it cannot be had any more, because the server now has a newer one. Once only, and only
 * if the server answers: a page that is loaded from a server that is away would be lost with all that it shows.
 */
export function reloadWhenReplaced(): void {
  window.addEventListener("vite:preloadError", () => {
    if (Date.now() - Number(sessionStorage.getItem(KEY) ?? 0) < AGAIN_MS) return;
    void reloadIfServed();
  });
}

/** Load the page anew if the server has one; returns false if it stays. */
export async function reloadIfServed(): Promise<boolean> {
  const answer = await fetch(`${UI_PATH}/`, { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return false;
  sessionStorage.setItem(KEY, String(Date.now()));
  location.reload();
  return true;
}
