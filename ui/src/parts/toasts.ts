/** Short words about what was just done, for a few seconds. */
export interface Toast {
  id: number;
  text: string;
  tone: "done" | "problem";
}

const SHOWN_MS = 5_000;
let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

export function say(text: string, tone: Toast["tone"] = "done"): void {
  const toast = { id: ++last, text, tone };
  toasts = [...toasts.slice(-3), toast];
  tell();
  setTimeout(() => dismiss(toast.id), tone === "problem" ? SHOWN_MS * 2 : SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts = toasts.filter((toast) => toast.id !== id);
  tell();
}

export function currentToasts(): Toast[] {
  return toasts;
}

export function onToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
