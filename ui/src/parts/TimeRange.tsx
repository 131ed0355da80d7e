import { lazy, Suspense, useState } from "react";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { type Ends, type Range, rangeOf, SUBMITTED, withRange } from "./range";
import { type Choice, Select } from "./Select";
import { stretch } from "./time";

const RangeSheet = lazy(() => import("./RangeSheet").then((found) => ({ default: found.RangeSheet })));

const RANGES: readonly Choice[] = [
  { value: "", label: texts.parts.anyTime },
  { value: "15m", label: texts.parts.last15Minutes },
  { value: "1h", label: texts.parts.lastHour },
  { value: "24h", label: texts.parts.last24Hours },
  { value: "7d", label: texts.parts.last7Days },
];
const CHOSEN = "chosen";
const CHOOSE = "choose";

interface Times {
  /** Within the last so long. */
  since?: string;
  /** Terms, of which two may be a range. */
  filter?: string;
}

interface TimeRangeProps {
  /** What happened within it, such as "Submitted". */
  label?: string;
  /** The fields that hold its ends. */
  ends?: Ends;
  of: Times;
  onChange: (times: Times) => void;
}

/** The time of what is listed: the last so long, or from one time to another. What was typed is one of the choices, too. */
export function TimeRange({ label = texts.parts.submitted, ends = SUBMITTED, of, onChange }: TimeRangeProps) {
  const { zone } = usePreferences();
  const [isChoosing, setChoosing] = useState(false);
  const { since = "", filter } = of;
  const range = rangeOf(filter, ends);
  const choices = [
    ...RANGES,
    ...(RANGES.some(({ value }) => value === since) ? [] : [{ value: since, label: texts.parts.lastValue(since) }]),
    ...(range ? [{ value: CHOSEN, label: stretch(range.from, range.until, zone) }] : []),
    { value: CHOOSE, label: texts.parts.customRange },
  ];

  function set(next: string, to: Range | null) {
    const rest = withRange(filter, ends, to);
    onChange({ ...(next ? { since: next } : {}), ...(rest ? { filter: rest } : {}) });
  }

  return (
    <>
      <Select
        aria-label={label}
        value={range ? CHOSEN : since}
        choices={choices}
        onChange={(next) => {
          if (next === CHOOSE) setChoosing(true);
          else if (next !== CHOSEN) set(next, null);
        }}
      />
      {isChoosing && (
        <Suspense>
          <RangeSheet
            label={label}
            range={range}
            onChange={(chosen) => set("", chosen)}
            onClose={() => setChoosing(false)}
          />
        </Suspense>
      )}
    </>
  );
}
