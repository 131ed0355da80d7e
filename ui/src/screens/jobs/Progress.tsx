import type { CountsBody } from "@/api/types";
import { texts } from "@/texts";
import css from "./Progress.module.css";

const PARTS = ["completed", "failed", "cancelled", "skipped"] as const;

/** How far a job is, by how its tasks ended. */
export function Progress({ counts }: { counts: CountsBody }) {
  const ended = PARTS.reduce((sum, part) => sum + counts[part], 0);
  const words = PARTS.filter((part) => counts[part] > 0).map((part) => `${counts[part]} ${part}`);
  const text = texts.jobs.tasksEnded(ended, counts.total, words.join(", "));
  return (
    <span className={css.progress} role="img" aria-label={text} title={text}>
      <span className={css.track}>
        {PARTS.map((part) => (
          <i key={part} data-tone={part} style={{ width: `${(100 * counts[part]) / Math.max(1, counts.total)}%` }} />
        ))}
      </span>
      <span className={css.count}>
        {ended}/{counts.total}
      </span>
    </span>
  );
}
