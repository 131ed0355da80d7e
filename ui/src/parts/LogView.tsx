import { ArrowDownToLine, WrapText } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "./Button";
import { Copy } from "./Copy";
import css from "./LogView.module.css";

const MOST_LINES = 5_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of terminals begin with one
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

/** What a task wrote: found by a word, followed while it grows. */
export function LogView({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const [word, setWord] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(text), [text]);
  const shown = word ? lines.filter((line) => line.text.toLowerCase().includes(word.toLowerCase())) : lines;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what it follows
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [isFollowing, shown.length]);
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
        <span className={css.count}>
          {shown.length.toLocaleString("en")} line{shown.length === 1 ? "" : "s"}
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
      >
        {shown.length === 0 && <p className={css.none}>{text ? "No line has this word." : "Nothing was written."}</p>}
        {shown.map((line) => (
          <div key={line.number} className={css.line}>
            <span aria-hidden="true">{line.number}</span>
            <code>{line.text}</code>
          </div>
        ))}
      </div>
    </div>
  );
}

function linesOf(text: string): { number: number; text: string }[] {
  if (!text) return [];
  const all = text.replace(COLOURS, "").replace(/\n$/, "").split("\n");
  const start = Math.max(0, all.length - MOST_LINES);
  return all.slice(start).map((line, place) => ({ number: start + place + 1, text: line }));
}
