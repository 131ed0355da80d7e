import { BigNumber, encode } from "@/api/numbers";

const LONGEST = 200;

/** A payload on one line: its fields without the braces around them, cut where it is long. */
export function payloadLine(payload: unknown): string {
  if (payload === undefined || payload === null) return "";
  const fields =
    typeof payload === "object" && !Array.isArray(payload) && !(payload instanceof BigNumber)
      ? Object.entries(payload).map(([name, value]) => `${name}: ${encode(value)}`)
      : [encode(payload)];
  const text = fields.join(", ");
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
