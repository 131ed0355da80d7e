const KEY = "drumline.reloaded";
const AGAIN_MS = 10_000;

/**
 * Load the page anew when a part of it cannot be had any more, because the server now has a newer one. Once only: if
 * that does not help, the server is away, and the screen says so.
 */
export function reloadWhenReplaced(): void {
  window.addEventListener("vite:preloadError", () => {
    if (Date.now() - Number(sessionStorage.getItem(KEY) ?? 0) < AGAIN_MS) return;
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
