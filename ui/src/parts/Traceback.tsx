import { useState } from "react";
import type { ErrorBody } from "@/api/types";
import { Button } from "./Button";
import { Copy } from "./Copy";
import { framesOf } from "./frames";
import css from "./Traceback.module.css";

/** An error as people read it: what, then where in their own code; frames of libraries are folded. */
export function Traceback({ error }: { error: ErrorBody }) {
  const [isWhole, setWhole] = useState(false);
  const frames = framesOf(error.traceback);
  const own = frames.filter((frame) => !frame.isLibrary);
  const shown = isWhole || own.length === 0 ? frames : own;
  const folded = frames.length - shown.length;
  return (
    <div className={css.error}>
      <div className={css.what}>
        <strong>{error.kind}</strong>
        <span>{error.message}</span>
        <Copy text={`${error.kind}: ${error.message}\n${error.traceback}`} what="error" />
      </div>
      {shown.length > 0 && (
        <ol className={css.frames}>
          {shown.map((frame) => (
            <li key={`${frame.file}:${frame.line}:${frame.place}`} data-library={frame.isLibrary || undefined}>
              <span className={css.where}>
                {frame.file}:{frame.line} <b>{frame.name}</b>
              </span>
              {frame.code && <code>{frame.code}</code>}
            </li>
          ))}
        </ol>
      )}
      {frames.length === 0 && error.traceback && <pre className={css.raw}>{error.traceback}</pre>}
      {(folded > 0 || (isWhole && own.length > 0 && own.length < frames.length)) && (
        <Button tone="quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Only own code" : `${folded} frames of libraries`}
        </Button>
      )}
    </div>
  );
}
