import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine, Download, WrapText } from "lucide-react";
import { useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { texts } from "@/texts";
import { LEVELS, type Level, piecesOf } from "./ansi";
import { IconButton } from "./Button";
import { Copy } from "./Copy";
import css from "./LogView.module.css";
import { LEVEL_CHOICES } from "./levels";
import { linesFrom, linesOf, linesWith } from "./lines";
import { Select } from "./Select";
import { Time } from "./Time";

const LINE_PX = 20;
/** How far from where it was put the log has to be before somebody has scrolled it. */
const STEP_PX = 4;

interface Props {
  text: string;
  isGrowing: boolean;
  /** What the file is called that it is saved as. */
  name?: string;
  /** The line that the address names. */
  line?: number | undefined;
  onLine?: (line: number) => void;
}

/** What a task wrote: all of it, found by a word, followed while it grows until the reader scrolls up. */
export function LogView({ text, isGrowing, name = "log", line: linked, onLine }: Props) {
  const [word, setWord] = useState("");
  const [level, setLevel] = useState<Level | null>(null);
  const [isFollowing, setFollowing] = useState(linked === undefined);
  const [isWrapped, setWrapped] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const end = useRef(0);
  const lines = useMemo(() => linesOf(text), [text]);
  const wanted = useDeferredValue(word);
  const shown = useMemo(() => linesWith(linesFrom(lines, level), wanted), [lines, level, wanted]);
  const isNarrowed = wanted !== "" || level !== null;
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: the line is gone to once, when the log is there
  useLayoutEffect(() => {
    if (linked !== undefined && lines.length >= linked) rows.scrollToIndex(linked - 1, { align: "center" });
  }, [linked, lines.length >= (linked ?? 0)]);

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
          placeholder={texts.parts.findInTheLog}
          aria-label={texts.parts.findInTheLog}
          value={word}
          onChange={(event) => setWord(event.target.value)}
        />
        <span className={css.count} role="status">
          {isNarrowed ? texts.parts.linesOf(shown.length, lines.length) : texts.parts.lines(lines.length)}
          {isGrowing ? texts.parts.growing : ""}
        </span>
        <Select
          aria-label={texts.parts.level}
          isSmall
          value={level ?? ""}
          choices={LEVEL_CHOICES}
          onChange={(chosen) => setLevel(LEVELS.find((one) => one === chosen) ?? null)}
        />
        <IconButton
          icon={WrapText}
          label={texts.parts.wrapLines}
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        />
        <IconButton
          icon={ArrowDownToLine}
          label={texts.parts.follow}
          aria-pressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        />
        <IconButton icon={Download} label={texts.parts.downloadTheLog} onClick={() => save(text, `${name}.txt`)} />
        <Copy text={text} what="log" />
      </div>
      <div
        ref={box}
        className={css.lines}
        data-wrapped={isWrapped || undefined}
        tabIndex={0}
        role="log"
        aria-label={texts.parts.log}
        onScroll={onScroll}
      >
        {shown.length === 0 && <p className={css.none}>{text ? texts.parts.noMatches : texts.parts.noOutput}</p>}
        <div className={css.all} style={{ height }}>
          <div style={{ transform: `translateY(${rows.getVirtualItems()[0]?.start ?? 0}px)` }}>
            {rows.getVirtualItems().map((row) => {
              const line = shown[row.index];
              return (
                line && (
                  <div
                    key={line.number}
                    ref={rows.measureElement}
                    data-index={row.index}
                    className={css.line}
                    data-level={line.level ?? undefined}
                    data-linked={line.number === linked || undefined}
                  >
                    <button
                      type="button"
                      tabIndex={-1}
                      aria-label={texts.parts.linkToLineNumber(line.number)}
                      style={{ width: `${Math.max(4, String(lines.length).length)}ch` }}
                      onClick={() => onLine?.(line.number)}
                    >
                      {line.number}
                    </button>
                    <code>
                      {line.at && <LineTime at={line.at} />}
                      <LineText raw={line.raw} />
                    </code>
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

/** When a line was written, in the zone that the person has chosen. */
export function LineTime({ at }: { at: string }) {
  return (
    <span className={css.at}>
      <Time at={at} as="exact" />{" "}
    </span>
  );
}

/** A line with the colours that it was written in, and its addresses as links. */
function LineText({ raw }: { raw: string }) {
  return piecesOf(raw).map((piece, place) => {
    const style = { "data-colour": piece.colour, "data-bold": piece.isBold };
    if (piece.href)
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
        <a key={place} href={piece.href} target="_blank" rel="noopener noreferrer nofollow" {...style}>
          {piece.text}
        </a>
      );
    if (!piece.colour && !piece.isBold) return piece.text;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
      <i key={place} {...style}>
        {piece.text}
      </i>
    );
  });
}

/** Let the browser save a text as a file. */
function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
