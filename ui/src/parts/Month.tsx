import { ChevronLeft, ChevronRight } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { texts } from "@/texts";
import { IconButton } from "./Button";
import { dayName, monthName, plusDays, plusMonths, WEEKDAYS, weekday, weeksOf } from "./days";
import css from "./Moment.module.css";

interface Props {
  day: string;
  today: string;
  onDay: (day: string) => void;
}

/** The days of a month. Arrow keys move by a day or a week, Page Up and Page Down by a month. */
export function Month({ day, today, onDay }: Props) {
  const [at, setAt] = useState(day);
  const grid = useRef<HTMLDivElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    if (moved.current) grid.current?.querySelector<HTMLElement>(`[data-day="${at}"]`)?.focus();
    moved.current = false;
  }, [at]);

  function onKeyDown(event: KeyboardEvent) {
    const next = after(event.key, at);
    if (next === null) return;
    event.preventDefault();
    moved.current = true;
    setAt(next);
  }

  return (
    <div className={css.month}>
      <header>
        <IconButton icon={ChevronLeft} label={texts.parts.previousMonth} onClick={() => setAt(plusMonths(at, -1))} />
        <strong aria-live="polite">{monthName(at)}</strong>
        <IconButton icon={ChevronRight} label={texts.parts.nextMonth} onClick={() => setAt(plusMonths(at, 1))} />
      </header>
      <div ref={grid} role="grid" aria-label={monthName(at)} onKeyDown={onKeyDown}>
        <div role="row" className={css.week}>
          {WEEKDAYS.map((name) => (
            <span key={name} role="columnheader" aria-label={name}>
              {name.slice(0, 2)}
            </span>
          ))}
        </div>
        {weeksOf(at).map((week) => (
          <div key={week[0]} role="row" className={css.week}>
            {week.map((one) => (
              <span key={one} role="gridcell" aria-selected={one === day}>
                <button
                  type="button"
                  data-day={one}
                  data-outside={one.slice(0, 7) !== at.slice(0, 7) || undefined}
                  aria-label={dayName(one)}
                  aria-current={one === today ? "date" : undefined}
                  tabIndex={one === at ? 0 : -1}
                  onClick={() => onDay(one)}
                >
                  {Number(one.slice(8))}
                </button>
              </span>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The day that a key leads to. */
function after(key: string, day: string): string | null {
  switch (key) {
    case "ArrowLeft":
      return plusDays(day, -1);
    case "ArrowRight":
      return plusDays(day, 1);
    case "ArrowUp":
      return plusDays(day, -7);
    case "ArrowDown":
      return plusDays(day, 7);
    case "Home":
      return plusDays(day, -weekday(day));
    case "End":
      return plusDays(day, 6 - weekday(day));
    case "PageUp":
      return plusMonths(day, -1);
    case "PageDown":
      return plusMonths(day, 1);
    default:
      return null;
  }
}
