import { Fragment, type ReactNode } from "react";

/** A text in which names in braces stand for what is not text: "since {time}", with a time for `time`. */
export function TextWith({ text, values }: { text: string; values: Record<string, ReactNode> }) {
  return text.split(/\{(\w+)\}/).map((piece, place) => {
    const shown = place % 2 === 1 ? values[piece] : piece;
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text keep their places
    return <Fragment key={place}>{shown}</Fragment>;
  });
}
