import { texts } from "@/texts";
/** "2 of 4", or only the number where somebody has retried a task beyond what it was allowed by itself. */
export function attemptWords(attempt: number, retries: number): string {
  return attempt <= retries + 1 ? texts.parts.ofAll(attempt, retries + 1) : String(attempt);
}
