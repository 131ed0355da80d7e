/** A step of a Python traceback. */
export interface Frame {
  place: number;
  file: string;
  line: number;
  name: string;
  code: string;
  isLibrary: boolean;
  /** What Python wrote after it in place of frames, such as "Previous line repeated 970 more times". */
  after?: string;
}

/** One error of a chain: what it said, where it was raised, and how it led to the next. */
export interface Link {
  /** The last line of its part of the traceback, `Kind: message`; nothing for the error itself, whose words are known. */
  title: string;
  frames: Frame[];
  /** Whether it was raised on purpose because of the one before, or while that was handled. */
  after: "cause" | "context" | null;
  /** The errors of an exception group, as Python draws them. */
  members: string;
}

const HEAD = /^\s*File "(.+?)", line (\d+)(?:, in (.+))?$/;
const LEFT_OUT = /^ {2}\[(.+)\]$/;
const MEMBER = /^ {2}\+-+ 1 -+$/;
const LIBRARY = /(site-packages|dist-packages|lib\/python3|<frozen|\/drumline\/(worker|sdk|engine)\/)/;
const LINES_SHOWN = 8;
const LETTERS_SHOWN = 500;
const FEWEST_LETTERS_HIDDEN = 100;
const CAUSE = "The above exception was the direct cause of the following exception:";
const CONTEXT = "During handling of the above exception, another exception occurred:";

/** Return the steps of a traceback, the innermost last, as Python writes them. */
export function framesOf(traceback: string): Frame[] {
  const frames: Frame[] = [];
  let current: Frame | null = null;
  for (const line of traceback.split("\n")) {
    const head = HEAD.exec(line);
    if (head) {
      const file = head[1] ?? "";
      const number = Number(head[2]);
      current = {
        place: frames.length,
        file,
        line: number,
        name: head[3] ?? "",
        code: "",
        isLibrary: LIBRARY.test(file),
      };
      frames.push(current);
      continue;
    }
    const leftOut = LEFT_OUT.exec(line)?.[1];
    const last = frames.at(-1);
    if (leftOut && last) {
      last.after = last.after ? `${last.after}, ${leftOut}` : leftOut;
      current = null;
    } else if (current && line.startsWith("    ") && !/^[\s^~]*$/.test(line)) {
      current.code = current.code ? `${current.code}\n${line.trim()}` : line.trim();
    } else if (line.trim()) {
      current = null;
    }
  }
  return frames;
}

/** Return the errors of a traceback as Python writes them: the root cause first, the error that was reported last. */
export function chainOf(traceback: string): Link[] {
  const parts: { text: string[]; after: Link["after"] }[] = [{ text: [], after: null }];
  for (const line of traceback.split("\n")) {
    if (line === CAUSE || line === CONTEXT) parts.push({ text: [], after: line === CAUSE ? "cause" : "context" });
    else parts.at(-1)?.text.push(line);
  }
  return parts.map(({ text, after }, place) => {
    const first = text.findIndex((line) => MEMBER.test(line));
    const own = first < 0 ? text : text.slice(0, first);
    return {
      title: place === parts.length - 1 ? "" : titleOf(own),
      frames: framesOf(own.join("\n")),
      after,
      members: first < 0 ? "" : text.slice(first).join("\n").trimEnd(),
    };
  });
}

/** Frames that are shown of each end of a long list: how it began, and where it failed. */
const [HEAD_SHOWN, TAIL_SHOWN] = [3, 6];
/** Frames that are hidden at once, at least: a button takes as much room as a frame. */
const FEWEST_HIDDEN = 4;

/** Return both ends of a long list of frames, and how many are between them. */
export function endsOf(frames: Frame[]): { head: Frame[]; hidden: number; tail: Frame[] } {
  const hidden = frames.length - HEAD_SHOWN - TAIL_SHOWN;
  if (hidden < FEWEST_HIDDEN) return { head: frames, hidden: 0, tail: [] };
  return { head: frames.slice(0, HEAD_SHOWN), hidden, tail: frames.slice(-TAIL_SHOWN) };
}

/** Return the beginning of a message, or all of one that is not long. */
export function headOf(message: string): string {
  const head = message.split("\n", LINES_SHOWN).join("\n").slice(0, LETTERS_SHOWN);
  return message.length - head.length < FEWEST_LETTERS_HIDDEN ? message : head.trimEnd();
}

/** The first line after the frames that is not indented. */
function titleOf(lines: string[]): string {
  const last = lines.findLastIndex((line) => HEAD.test(line));
  const title = lines.slice(last + 1).findIndex((line) => line !== "" && !line.startsWith(" "));
  return title < 0
    ? ""
    : lines
        .slice(last + 1 + title)
        .join("\n")
        .trim();
}
