import type { ReactNode } from "react";
import css from "./Mark.module.css";

export type Tone = "good" | "busy" | "warn" | "bad" | "none";

/** How something stands, in a word with a sign before it; the sign's shape says the same as its colour. */
export function Mark({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={css.mark} data-tone={tone}>
      <i aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}

/** "pending" as "Pending", "needs_restart" as "Needs restart". */
export function word(text: string): string {
  const spaced = text.replaceAll("_", " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
