/** A step of a Python traceback. */
export interface Frame {
  place: number;
  file: string;
  line: number;
  name: string;
  code: string;
  isLibrary: boolean;
}

const HEAD = /^\s*File "(.+?)", line (\d+)(?:, in (.+))?$/;
const LIBRARY = /(site-packages|dist-packages|lib\/python3|<frozen|\/drumline\/(worker|sdk|engine)\/)/;

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
    } else if (current && line.startsWith("    ") && !/^[\s^~]*$/.test(line)) {
      current.code = current.code ? `${current.code}\n${line.trim()}` : line.trim();
    } else if (line.trim()) {
      current = null;
    }
  }
  return frames;
}
