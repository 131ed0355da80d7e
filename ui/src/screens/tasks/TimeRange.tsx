import css from "./Tasks.module.css";

const RANGES = [
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
] as const;

interface TimeRangeProps {
  value: string | undefined;
  onChange: (since: string) => void;
}

/** When the listed tasks were submitted. A range that was typed is one of the choices, too. */
export function TimeRange({ value, onChange }: TimeRangeProps) {
  const isTyped = value !== undefined && !RANGES.some(([range]) => range === value);
  return (
    <select
      className={css.range}
      aria-label="Submitted"
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">Any time</option>
      {RANGES.map(([range, label]) => (
        <option key={range} value={range}>
          {label}
        </option>
      ))}
      {isTyped && <option value={value}>Last {value}</option>}
    </select>
  );
}
