import css from "./Sparkline.module.css";

interface Props {
  counts: readonly number[];
  label: string;
  tone?: "failed" | "completed";
}

/** Counts over time as small bars; what they say is also said in words. */
export function Sparkline({ counts, label, tone = "failed" }: Props) {
  const most = Math.max(1, ...counts);
  return (
    <span className={css.spark} data-tone={tone} role="img" aria-label={label} title={label}>
      {counts.map((count, place) => {
        const height = `${Math.max(6, (100 * count) / most)}%`;
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
        return <i key={place} data-none={count === 0 || undefined} style={{ height }} />;
      })}
    </span>
  );
}
