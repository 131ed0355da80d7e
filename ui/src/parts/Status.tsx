import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CirclePlay,
  CircleSlash,
  CircleX,
  type LucideIcon,
} from "lucide-react";
import css from "./Status.module.css";

const LOOKS: Record<string, [LucideIcon, string, string]> = {
  PENDING: [CircleDashed, "Pending", "pending"],
  QUEUED: [CircleDot, "Queued", "queued"],
  PROCESSING: [CirclePlay, "Processing", "processing"],
  COMPLETED: [CircleCheck, "Completed", "completed"],
  FAILED: [CircleX, "Failed", "failed"],
  CANCELLED: [Ban, "Cancelled", "cancelled"],
  SKIPPED: [CircleSlash, "Skipped", "skipped"],
};

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
