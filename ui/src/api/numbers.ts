/** What goes over the wire: queries out, JSON in, without rounding a number. */

export function queryOf(query: Record<string, unknown>): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) parts.append(name, String(one));
  }
  const text = parts.toString();
  return text ? `?${text}` : "";
}

/** Numbers that JavaScript would round stay what they were, as text in a wrapper that shows itself. */
export class BigNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

const LONG = /\d{16}/;
const PARTS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]{15,}/g;
const MARK = "\u0000number:";

/** Read JSON without rounding its numbers: long ones are put between quotes first, with a mark that no text has. */
export function decode(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  const marked = text.replace(PARTS, (part) => (part.startsWith('"') ? part : JSON.stringify(MARK + part)));
  return JSON.parse(marked, (_name, value: unknown) => {
    if (typeof value !== "string" || !value.startsWith(MARK)) return value;
    const number = Number(value.slice(MARK.length));
    const isExact = Number.isSafeInteger(number) || !Number.isInteger(number);
    return isExact ? number : new BigNumber(value.slice(MARK.length));
  });
}

/** JSON that is sent as it is written: parsing it first could round its numbers. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** Write JSON, on one line or indented for people; what is raw, and numbers too long for JavaScript, go in as they are. */
export function encode(value: unknown, indent = 0): string {
  const raws: string[] = [];
  const given = (_name: string, one: unknown) => {
    if (one instanceof RawJson) return `${MARK}${raws.push(one.text) - 1}`;
    if (one instanceof BigNumber) return `${MARK}${raws.push(one.text) - 1}`;
    return one;
  };
  const text = JSON.stringify(value, given, indent);
  return text.replace(/"\\u0000number:(\d+)"/g, (_, place: string) => raws[Number(place)] ?? "null");
}
