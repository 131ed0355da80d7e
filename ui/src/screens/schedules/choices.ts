/** What can be chosen for a schedule, in words. */
import type { Misfire, Overlap } from "@/api/types";
import type { Choice } from "@/parts/Select";
import { texts } from "@/texts";

export const KINDS: readonly Choice<"cron" | "interval">[] = [
  { value: "cron", label: texts.schedules.cron },
  { value: "interval", label: texts.schedules.interval },
];
export const OVERLAPS: readonly Choice<Overlap>[] = [
  { value: "allow", label: texts.schedules.runInParallel },
  { value: "skip", label: texts.schedules.skipTheNewRun },
  { value: "queue", label: texts.schedules.queueTheNewRun },
  { value: "cancel_previous", label: texts.schedules.cancelThePreviousRun },
];
export const MISFIRES: readonly Choice<Misfire>[] = [
  { value: "skip", label: texts.schedules.skipThem },
  { value: "once", label: texts.schedules.runOnce },
  { value: "all", label: texts.schedules.runEach },
];

/** The words for what was chosen. */
export function labelOf<Value extends string>(choices: readonly Choice<Value>[], value: Value): string {
  return choices.find((choice) => choice.value === value)?.label ?? value;
}
