import { texts } from "@/texts";

/** Failures of one hour that the server counts at most: there may be more. */
const MOST_AN_HOUR = 100;

/** How many failures of a group there were in the last 24 hours, in words. */
export function last24(trend: readonly number[]): string {
  const total = trend.reduce((sum, count) => sum + count, 0).toLocaleString("en");
  return texts.failures.totalInTheLast24(trend.some((count) => count >= MOST_AN_HOUR) ? `${total}+` : total);
}
