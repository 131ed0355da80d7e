import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine, WrapText } from "lucide-react";
import { useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "./Button";
import { Copy } from "./Copy";
import css from "./LogView.module.css";
import { linesOf, linesWith } from "./lines";

const LINE_PX = 20;
/** How far from where it was put the log has to be before somebody has scrolled it. */
const STEP_PX = 4;

/** What a task wrote: all of it, found by a word, followed while it grows until the reader scrolls up. */
export function LogView({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const [word, setWord] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const end = useRef(0);
  const lines = useMemo(() => linesOf(text), [text]);
  const wanted = useDeferredValue(word);
  const shown = useMemo(() => linesWith(lines, wanted), [lines, wanted]);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (place) => shown[place]?.number ?? place,
    overscan: 20,
  });
  const height = rows.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what makes it longer moves its end
  useLayoutEffect(() => {
    if (!isFollowing || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    end.current = box.current.scrollTop;
  }, [isFollowing, height, shown.length]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines that are wrapped differently have other heights
  useLayoutEffect(() => rows.measure(), [isWrapped]);

  function onScroll() {
    if (!box.current) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    const isAtEnd = scrollHeight - clientHeight - scrollTop < STEP_PX;
    if (isFollowing && scrollTop < end.current - STEP_PX && !isAtEnd) setFollowing(false);
    else if (!isFollowing && isAtEnd) setFollowing(true);
  }

  return (
    <div className={css.log}>
      <div className={css.bar}>
        <input
          type="search"
          placeholder="Find in the log"
          aria-label="Find in the log"
          value={word}
          onChange={(event) => setWord(event.target.value)}
        />
        <span className={css.count} role="status">
          {wanted && `${shown.length.toLocaleString("en")} of `}
          {lines.length.toLocaleString("en")} line{lines.length === 1 ? "" : "s"}
          {isGrowing ? ", growing" : ""}
        </span>
        <IconButton
          icon={WrapText}
          label="Wrap lines"
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        />
        <IconButton
          icon={ArrowDownToLine}
          label="Follow"
          aria-pressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        />
        <Copy text={text} what="log" />
      </div>
      <div
        ref={box}
        className={css.lines}
        data-wrapped={isWrapped || undefined}
        tabIndex={0}
        role="log"
        aria-label="Log"
        onScroll={onScroll}
      >
        {shown.length === 0 && <p className={css.none}>{text ? "No matches." : "Nothing was written."}</p>}
        <div className={css.all} style={{ height }}>
          <div style={{ transform: `translateY(${rows.getVirtualItems()[0]?.start ?? 0}px)` }}>
            {rows.getVirtualItems().map((row) => {
              const line = shown[row.index];
              return (
                line && (
                  <div key={line.number} ref={rows.measureElement} data-index={row.index} className={css.line}>
                    <span aria-hidden="true" style={{ width: `${Math.max(4, String(lines.length).length)}ch` }}>
                      {line.number}
                    </span>
                    <code>{line.text}</code>
                  </div>
                )
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}
