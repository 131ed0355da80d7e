/** A stretch of a line of one colour. */
export interface Piece {
  text: string;
  colour?: string | undefined;
  isBold?: boolean | undefined;
  href?: string | undefined;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of terminals begin with one
const SEQUENCE = /\u001b\[([0-9;]*)([A-Za-z])/g;
/** Only what is plainly an address of the web: nothing that runs, and no closing punctuation. */
const LINK = /https?:\/\/[^\s<>"'`]+/g;
const CLOSING = /[.,;:!?)\]}]+$/;
const LONGEST_LINK = 2000;
const LEVEL = /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z )?(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b/;

export type Level = "debug" | "info" | "warning" | "error";
export const LEVELS: readonly Level[] = ["debug", "info", "warning", "error"];

interface Style {
  colour: string | undefined;
  isBold: boolean;
}

/** How many codes belong to one that begins a colour: `5;n` of 256, or `2;r;g;b`. */
const ARGUMENTS: Record<number, number> = { 5: 2, 2: 4 };

function styled(style: Style, given: string): Style {
  let { colour, isBold } = style;
  const codes = given === "" ? [0] : given.split(";").map(Number);
  for (let place = 0; place < codes.length; place++) {
    const code = codes[place] ?? 0;
    if (code === 38 || code === 48) {
      const [kind = 0, number = 0] = codes.slice(place + 1);
      // The first 16 of 256 colours have names; other colours are left out, and so are those of the background.
      if (code === 38) colour = kind === 5 && number < 16 ? NAMES[number % 8] : undefined;
      place += ARGUMENTS[kind] ?? 0;
    } else if (code === 0) [colour, isBold] = [undefined, false];
    else if (code === 1) isBold = true;
    else if (code === 22) isBold = false;
    else if (code === 39) colour = undefined;
    else if (code >= 30 && code <= 37) colour = NAMES[code - 30];
    else if (code >= 90 && code <= 97) colour = NAMES[code - 90];
  }
  return { colour, isBold };
}

function withLinks(text: string, style: Style): Piece[] {
  const pieces: Piece[] = [];
  const add = (part: string, href?: string) => {
    if (part) pieces.push({ text: part, colour: style.colour, isBold: style.isBold || undefined, href });
  };
  let end = 0;
  for (const found of text.matchAll(LINK)) {
    const address = found[0].slice(0, LONGEST_LINK).replace(CLOSING, "");
    add(text.slice(end, found.index));
    add(address, address);
    end = found.index + address.length;
  }
  add(text.slice(end));
  return pieces;
}

/** A line as pieces: the colours of terminals become styles, addresses become links, other sequences are left out. */
export function piecesOf(line: string): Piece[] {
  const pieces: Piece[] = [];
  let style: Style = { colour: undefined, isBold: false };
  let end = 0;
  for (const found of line.matchAll(SEQUENCE)) {
    pieces.push(...withLinks(line.slice(end, found.index), style));
    if (found[2] === "m") style = styled(style, found[1] ?? "");
    end = found.index + found[0].length;
  }
  pieces.push(...withLinks(line.slice(end), style));
  return pieces;
}

/** The level that a line of Python's logging names; nothing for other lines. */
export function levelOf(line: string): Level | null {
  const word = LEVEL.exec(line)?.[1];
  if (word === undefined) return null;
  if (word === "DEBUG") return "debug";
  if (word === "INFO") return "info";
  return word.startsWith("WARN") ? "warning" : "error";
}
