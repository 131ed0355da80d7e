import { Search } from "lucide-react";
import { useState } from "react";
import { texts } from "@/texts";
import css from "./GraphView.module.css";
import type { Box } from "./model";

/** The boxes in which a text is found: in a task's key, name or status; nothing while nothing is looked for. */
export function matches(boxes: readonly Box[], text: string): ReadonlySet<string> | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const has = (value: string) => value.toLowerCase().includes(wanted);
  return new Set(
    boxes
      .filter((box) => box.nodes.some((node) => has(node.key) || has(node.name) || has(node.status)))
      .map((box) => box.id),
  );
}

interface Props {
  boxes: readonly Box[];
  text: string;
  found: ReadonlySet<string> | null;
  onText: (text: string) => void;
  onGo: (id: string) => void;
}

/** Finds tasks in a graph; Enter goes from one to the next. */
export function GraphSearch({ boxes, text, found, onText, onGo }: Props) {
  const [place, setPlace] = useState(-1);
  const ids = found ? boxes.filter((box) => found.has(box.id)).map((box) => box.id) : [];
  return (
    <label className={css.search}>
      <Search size={14} aria-hidden="true" />
      <input
        type="search"
        aria-label={texts.job.findATaskInThe}
        placeholder={texts.job.findATask}
        value={text}
        onChange={(event) => {
          onText(event.target.value);
          setPlace(-1);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || ids.length === 0) return;
          event.preventDefault();
          const next = (place + (event.shiftKey ? ids.length - 1 : 1)) % ids.length;
          setPlace(next);
          onGo(ids[next] as string);
        }}
      />
      {found && (
        <output>
          {ids.length === 0 ? texts.job.noMatches : place < 0 ? ids.length : texts.parts.ofAll(place + 1, ids.length)}
        </output>
      )}
    </label>
  );
}
