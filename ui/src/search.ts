/** The words of the search box: `status:failed queue:mail tag:vip name:shop.charge`, in any order. */

export interface TaskSearch {
  status?: string;
  queue?: string;
  name?: string;
  tag?: string;
  key?: string;
  worker?: string;
  job?: string;
  /** Ended within the last so long, such as 15m. */
  ended?: string;
  /** Submitted within the last so long, such as 2h. */
  since?: string;
}

export const WORDS = ["status", "queue", "name", "tag", "key", "worker", "job", "ended", "since"] as const;
export type Word = (typeof WORDS)[number];

export const STATUSES = ["pending", "queued", "processing", "completed", "failed", "cancelled", "skipped"];
const PART = /(?:(\w+):)?("(?:[^"\\]|\\.)*"|\S+)/g;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export interface Parsed {
  search: TaskSearch;
  /** A whole task id: its page is what is meant. */
  id: string | null;
  /** What could not be understood, in words. */
  notes: string[];
}

/** Read what somebody typed. Free text is taken for a task's name. */
export function parseSearch(text: string): Parsed {
  const search: TaskSearch = {};
  const notes: string[] = [];
  let id: string | null = null;
  for (const match of text.matchAll(PART)) {
    const word = (match[1] ?? "").toLowerCase().replace("state", "status");
    const value = unquoted(match[2] ?? "");
    if (!word) {
      if (ID.test(value)) id = value.toLowerCase();
      else if (search.name) notes.push(`"${value}" was left out: only one name can be searched for`);
      else search.name = value;
    } else if (!(WORDS as readonly string[]).includes(word)) {
      notes.push(`"${word}:" is not known; there are ${WORDS.join(", ")}`);
    } else if (word === "status" && !value.split(",").every((one) => STATUSES.includes(one.toLowerCase()))) {
      notes.push(`"${value}" is no status; there are ${STATUSES.join(", ")}`);
    } else if ((word === "ended" || word === "since") && spanOf(value) === null) {
      notes.push(`"${value}" is no time span; write 15m, 2h or 7d`);
    } else {
      search[word as Word] = word === "status" ? value.toLowerCase() : value;
    }
  }
  return { search, id, notes };
}

/** Whether a search means times counted back from now, which bulk operations do not take. */
export function isRelative(search: TaskSearch): boolean {
  return search.ended !== undefined || search.since !== undefined;
}

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Return how many milliseconds a text such as 15m means, or nothing. */
export function spanOf(text: string): number | null {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNITS[unit] ?? 0);
}

/** Write a search as somebody would type it. */
export function writeSearch(search: TaskSearch): string {
  return WORDS.filter((word) => search[word])
    .map((word) => `${word}:${quoted(search[word] ?? "")}`)
    .join(" ");
}

function quoted(value: string): string {
  return /[\s"]/.test(value) ? JSON.stringify(value) : value;
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return JSON.parse(value) as string;
  } catch {
    return value.replaceAll('"', "");
  }
}
