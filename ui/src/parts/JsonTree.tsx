import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { BigNumber } from "@/api/numbers";
import { texts } from "@/texts";
import css from "./JsonTree.module.css";

const MOST_SHOWN = 200;

/** A JSON value to look into. Numbers too large for JavaScript are shown as they were sent. */
export function JsonTree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  if (value !== null && typeof value === "object" && !(value instanceof BigNumber)) {
    return <Branch value={value as object} depth={depth} {...(name === undefined ? {} : { name })} />;
  }
  return (
    <div className={css.leaf}>
      {name !== undefined && <span className={css.name}>{name}: </span>}
      <Scalar value={value} />
    </div>
  );
}

function Scalar({ value }: { value: unknown }) {
  if (typeof value === "string") return <span className={css.string}>"{value}"</span>;
  if (value === null) return <span className={css.word}>{String(value)}</span>;
  return <span className={typeof value === "boolean" ? css.word : css.number}>{String(value)}</span>;
}

function Branch({ value, name, depth }: { value: object; name?: string; depth: number }) {
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < 2 && entries.length <= 50);
  const [most, setMost] = useState(MOST_SHOWN);
  const isList = Array.isArray(value);
  const summary = isList ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div className={css.leaf}>
        {name !== undefined && <span className={css.name}>{name}: </span>}
        <span className={css.count}>{isList ? "[]" : "{}"}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className={css.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={12} aria-hidden="true" />
        {name !== undefined && <span className={css.name}>{name}</span>} <span className={css.count}>{summary}</span>
      </button>
      {isOpen && (
        <div className={css.inside}>
          {entries.slice(0, most).map(([key, one]) => (
            <JsonTree key={key} name={key} value={one} depth={depth + 1} />
          ))}
          {entries.length > most && (
            <button type="button" className={css.toggle} onClick={() => setMost(most + MOST_SHOWN)}>
              {texts.parts.countMore(entries.length - most)}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
