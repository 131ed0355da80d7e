import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CirclePlay,
  CircleSlash,
  CircleX,
  Hourglass,
  type LucideIcon,
} from "lucide-react";
import { texts } from "@/texts";
import css from "./Status.module.css";

const LOOKS: Record<string, [LucideIcon, string, string]> = {
  PENDING: [CircleDashed, texts.common.pending, "pending"],
  WAITING: [Hourglass, texts.parts.waiting, "pending"],
  QUEUED: [CircleDot, texts.common.queued, "queued"],
  PROCESSING: [CirclePlay, texts.common.processing, "processing"],
  COMPLETED: [CircleCheck, texts.parts.completed, "completed"],
  FAILED: [CircleX, texts.common.failed, "failed"],
  CANCELLED: [Ban, texts.parts.cancelled, "cancelled"],
  SKIPPED: [CircleSlash, texts.common.skipped, "skipped"],
};

/** The status of a task as people read it: a durable task that is not due waits. */
export function shownStatus(task: { status: string; is_waiting?: boolean }): string {
  return task.is_waiting ? "WAITING" : task.status;
}

export function statusTone(status: string): string {
  return LOOKS[status]?.[2] ?? "pending";
}

export function statusWord(status: string): string {
  return LOOKS[status]?.[1] ?? status;
}

/** A status as shape, word and colour: none of them is the only sign. */
export function Status({ of, small = false }: { of: string; small?: boolean }) {
  const [Icon, word, tone] = LOOKS[of] ?? [CircleDashed, of, "pending"];
  return (
    <span className={`${css.status} ${small ? css.small : ""}`} data-tone={tone}>
      <Icon size={small ? 13 : 14} aria-hidden="true" />
      {word}
    </span>
  );
}
