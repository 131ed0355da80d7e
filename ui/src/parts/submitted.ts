import type { SubmittedBody } from "@/api/types";
import { texts } from "@/texts";
import { sentence } from "./sentence";
import { say } from "./toasts";

/** Say that a task was stored, and what the server finds doubtful about it. */
export function saySubmitted({ warnings = [] }: Pick<SubmittedBody, "warnings">): void {
  if (warnings.length === 0) say(texts.parts.submitted);
  else say(texts.parts.submittedValue(warnings.map((warning) => sentence(warning.message)).join(" ")), "problem");
}
