import { useState } from "react";
import type { ErrorBody } from "@/api/types";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Copy } from "./Copy";
import { chainOf, endsOf, type Frame, headOf, type Link } from "./frames";
import css from "./Traceback.module.css";

/** An error as people read it: the root cause first, then what came of it; frames of libraries are folded. */
export function Traceback({ error }: { error: ErrorBody }) {
  const [isWhole, setWhole] = useState(false);
  const chain = chainOf(error.traceback);
  const frames = chain.flatMap((link) => link.frames);
  const own = frames.filter((frame) => !frame.isLibrary).length;
  const folded = own === 0 ? 0 : frames.length - own;
  const isAll = isWhole || own === 0;
  return (
    <div className={css.error}>
      <div className={css.what}>
        <strong>{error.kind}</strong>
        <Message text={error.message} />
        <Copy text={`${error.kind}: ${error.message}\n${error.traceback}`} what="error" />
      </div>
      {chain.length > 1 ? (
        <ol className={css.chain} aria-label={texts.parts.chainOfErrorsRootCause}>
          {chain.map((link, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an error of a chain is its place
            <li key={place}>
              <p className={css.link}>
                <b>
                  {place === 0
                    ? texts.parts.rootCause
                    : link.after === "cause"
                      ? texts.parts.whichCaused
                      : texts.parts.whileHandlingIt}
                </b>
                <Message text={link.title || `${error.kind}: ${error.message}`} />
              </p>
              <Frames of={shownOf(link, isAll)} />
              <Members of={link.members} />
            </li>
          ))}
        </ol>
      ) : (
        <>
          <Frames of={shownOf(chain[0], isAll)} />
          <Members of={chain[0]?.members} />
        </>
      )}
      {frames.length === 0 && error.traceback && <pre className={css.raw}>{error.traceback}</pre>}
      {folded > 0 && (
        <Button tone="quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole ? texts.parts.hideLibraryFrames : texts.parts.showFrames(folded)}
        </Button>
      )}
    </div>
  );
}

/** What an error says; of a long message its beginning, so that the cause stays in sight. */
function Message({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const head = headOf(text);
  if (isWhole || head === text) return <span>{text}</span>;
  return (
    <span>
      {head}…{" "}
      <Button tone="quiet" onClick={() => setWhole(true)}>
        {texts.parts.showWholeMessage}
      </Button>
    </span>
  );
}

function shownOf(link: Link | undefined, isAll: boolean): Frame[] {
  return (link?.frames ?? []).filter((frame) => isAll || !frame.isLibrary);
}

/** Where it went, step by step; the middle of a long way is folded. */
function Frames({ of }: { of: Frame[] }) {
  const [isLong, setLong] = useState(false);
  if (of.length === 0) return null;
  const { head, hidden, tail } = endsOf(of);
  return (
    <ol className={css.frames}>
      {(isLong ? of : head).map(stepOf)}
      {hidden > 0 && !isLong && (
        <li className={css.fold}>
          <Button tone="quiet" onClick={() => setLong(true)}>
            {texts.parts.showMoreFrames(hidden)}
          </Button>
        </li>
      )}
      {!isLong && tail.map(stepOf)}
    </ol>
  );
}

function stepOf(frame: Frame) {
  return (
    <li key={`${frame.file}:${frame.line}:${frame.place}`} data-library={frame.isLibrary || undefined}>
      <span className={css.where}>
        {frame.file}:{frame.line} <b>{frame.name}</b>
      </span>
      {frame.code && <code>{frame.code}</code>}
      {frame.after && <span className={css.where}>{frame.after}</span>}
    </li>
  );
}

/** The errors of a group, as Python draws them. */
function Members({ of }: { of: string | undefined }) {
  if (!of) return null;
  return (
    <pre className={css.raw} tabIndex={0} aria-label={texts.parts.errorsOfTheGroup}>
      {of}
    </pre>
  );
}
