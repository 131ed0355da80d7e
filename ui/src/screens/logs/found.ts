import type { LogLineBody } from "@/api/types";

/** Lines of one task that were found one after the other. */
export interface FoundTask {
  id: string;
  name: string;
  queue: string;
  status: LogLineBody["status"];
  lines: LogLineBody[];
  /** Whether more than one attempt wrote them. */
  isOfSeveral: boolean;
}

/** Lines by their tasks, in the order in which they were found. */
export function byTask(lines: readonly LogLineBody[]): FoundTask[] {
  const tasks: FoundTask[] = [];
  for (const line of lines) {
    const last = tasks.at(-1);
    if (last?.id === line.task_id) {
      last.isOfSeveral ||= line.attempt !== last.lines[0]?.attempt;
      last.lines.push(line);
    } else {
      const { task_id: id, name, queue, status } = line;
      tasks.push({ id, name, queue, status, lines: [line], isOfSeveral: false });
    }
  }
  return tasks;
}

export interface Piece {
  text: string;
  isFound: boolean;
}

/** A line in pieces: what was searched for, in capitals or not, and what is between. */
export function marked(line: string, text: string): Piece[] {
  const [lower, wanted] = [line.toLowerCase(), text.toLowerCase()];
  // In few languages a letter has another length in lower case: then its places are not known.
  if (!wanted || lower.length !== line.length) return [{ text: line, isFound: false }];
  const pieces: Piece[] = [];
  let end = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, end)) {
    if (at > end) pieces.push({ text: line.slice(end, at), isFound: false });
    end = at + wanted.length;
    pieces.push({ text: line.slice(at, end), isFound: true });
  }
  if (end < line.length) pieces.push({ text: line.slice(end), isFound: false });
  return pieces;
}
