/** The lines of a log. */
export interface Line {
  number: number;
  text: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of terminals begin with one
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

/** All lines of a log, without the colours of terminals. */
export function linesOf(text: string): Line[] {
  if (!text) return [];
  const all = text.replace(COLOURS, "").replace(/\n$/, "").split("\n");
  return all.map((line, place) => ({ number: place + 1, text: line }));
}

/** The lines that have a word, in capitals or not; all of them if there is no word. */
export function linesWith(lines: Line[], word: string): Line[] {
  if (!word) return lines;
  const wanted = word.toLowerCase();
  return lines.filter((line) => line.text.toLowerCase().includes(wanted));
}
