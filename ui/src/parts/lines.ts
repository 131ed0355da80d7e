import { LEVELS, type Level, levelOf } from "./ansi";

/** The lines of a log. */
export interface Line {
  number: number;
  /** Without the colours of terminals. */
  text: string;
  /** When it was written, if it says so. */
  at: string | null;
  /** As it was written, without that time. */
  raw: string;
  /** Its own level, or that of the line before: a traceback belongs to the line that announced it. */
  level: Level | null;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of terminals begin with one
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) /;

/** The time at which a line says that it was written, if it does, and what follows it. */
export function stamped(line: string): [at: string | null, rest: string] {
  const stamp = STAMP.exec(line)?.[1];
  if (stamp === undefined || Number.isNaN(Date.parse(stamp))) return [null, line];
  return [stamp, line.slice(stamp.length + 1)];
}

/** All lines of a log. */
export function linesOf(text: string): Line[] {
  if (!text) return [];
  let level: Level | null = null;
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line, place) => {
      const plain = line.replace(COLOURS, "");
      level = levelOf(plain) ?? level;
      const [at, raw] = stamped(line);
      return { number: place + 1, text: plain, at, raw, level };
    });
}

/** The lines that have a word, in capitals or not; all of them if there is no word. */
export function linesWith(lines: Line[], word: string): Line[] {
  if (!word) return lines;
  const wanted = word.toLowerCase();
  return lines.filter((line) => line.text.toLowerCase().includes(wanted));
}

/** The lines of a level or a higher one; all of them if there is no level. */
export function linesFrom(lines: Line[], least: Level | null): Line[] {
  if (least === null) return lines;
  const place = LEVELS.indexOf(least);
  return lines.filter((line) => line.level !== null && LEVELS.indexOf(line.level) >= place);
}
