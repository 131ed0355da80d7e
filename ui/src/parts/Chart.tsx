import { type ReactNode, useId, useState } from "react";
import { usePreferences } from "@/preferences";
import { Button } from "./Button";
import css from "./Chart.module.css";
import { Table } from "./Table";
import { clock, tick } from "./time";

export interface Line {
  name: string;
  tone: string;
  values: (number | null)[];
}

interface Props {
  title: string;
  times: string[];
  lines: Line[];
  /** Whether the lines lie on top of one another. */
  stacked?: boolean;
  format: (value: number) => string;
  /** What leads on from here. */
  aside?: ReactNode;
}

const [WIDTH, HEIGHT, BOTTOM] = [600, 150, 4];

/** A chart over time. The pointer reads it, and a table says the same. */
export function Chart({ title, times, lines, stacked = false, format, aside }: Props) {
  const { zone } = usePreferences();
  const [at, setAt] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const id = useId();
  const sums = stacked ? stack(lines) : lines.map((line) => line.values);
  const top = nice(Math.max(0, ...sums.flat().map((value) => value ?? 0)));
  const x = (place: number) => (times.length < 2 ? WIDTH : (place / (times.length - 1)) * WIDTH);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const shown = at ?? latestOf(times, lines);
  return (
    <figure className={css.chart} aria-labelledby={id}>
      <figcaption className={css.head}>
        <h2 id={id}>{title}</h2>
        {aside && <span className={css.aside}>{aside}</span>}
        <Button tone="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? "Chart" : "Table"}
        </Button>
      </figcaption>
      <ul className={css.legend}>
        {lines.map((line) => (
          <li key={line.name} data-tone={line.tone}>
            <i aria-hidden="true" />
            {line.name} <strong>{valueText(line.values[shown], format)}</strong>
          </li>
        ))}
        <li className={css.when}>{times[shown] && (at === null ? "latest" : clock(times[shown], zone))}</li>
      </ul>
      {isTable ? (
        <div className={css.table}>
          <Table head={["Time", ...lines.map((line) => line.name)]}>
            {times.map((time, place) => (
              <tr key={time}>
                <th scope="row">{clock(time, zone)}</th>
                {lines.map((line) => (
                  <td key={line.name}>{valueText(line.values[place], format)}</td>
                ))}
              </tr>
            ))}
          </Table>
        </div>
      ) : (
        <div className={css.plot}>
          <span className={css.top}>{format(top)}</span>
          <span className={css.middle}>{format(top / 2)}</span>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${title}; the table has the figures`}
            onPointerMove={(event) => {
              const box = event.currentTarget.getBoundingClientRect();
              const share = (event.clientX - box.left) / box.width;
              setAt(Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1)))));
            }}
            onPointerLeave={() => setAt(null)}
          >
            <path d={`M0,${y(top / 2)}H${WIDTH}M0,${y(top)}H${WIDTH}`} className={css.grid} />
            {lines.map((line, place) => {
              const values = sums[place] ?? [];
              const below = stacked && place > 0 ? (sums[place - 1] ?? []) : values.map(() => 0);
              return (
                <g key={line.name} data-tone={line.tone}>
                  {stacked && <path d={area(values, below, x, y)} className={css.area} />}
                  <path d={path(values, x, y)} className={css.line} />
                </g>
              );
            })}
            {at !== null && <path d={`M${x(at)},0V${HEIGHT}`} className={css.cursor} />}
          </svg>
          <div className={css.times} aria-hidden="true">
            {marksOf(times).map((time) => (
              <span key={time}>{tick(time, zone, isLong(times))}</span>
            ))}
          </div>
        </div>
      )}
    </figure>
  );
}

/** Five moments, evenly spread: what is written under a chart. */
function marksOf(times: string[]): string[] {
  if (times.length < 5) return times;
  return [0, 0.25, 0.5, 0.75, 1].map((share) => times[Math.round(share * (times.length - 1))] ?? "");
}

/** The last bucket, or the one before while nothing is known of the last, which is still being filled. */
function latestOf(times: string[], lines: Line[]): number {
  const last = times.length - 1;
  const isKnown = lines.some((line) => (line.values[last] ?? null) !== null);
  return isKnown ? last : Math.max(0, last - 1);
}

function isLong(times: string[]): boolean {
  return Date.parse(times.at(-1) ?? "") - Date.parse(times[0] ?? "") > 2 * 86_400_000;
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

function stack(lines: Line[]): (number | null)[][] {
  const sums: number[] = [];
  return lines.map((line) =>
    line.values.map((value, place) => {
      sums[place] = (sums[place] ?? 0) + (value ?? 0);
      return sums[place] ?? 0;
    }),
  );
}

function path(values: (number | null)[], x: (place: number) => number, y: (value: number) => number): string {
  let d = "";
  let isDown = false;
  for (const [place, value] of values.entries()) {
    if (value === null) {
      isDown = false;
      continue;
    }
    d += `${isDown ? "L" : "M"}${x(place).toFixed(1)},${y(value).toFixed(1)}`;
    // A value without neighbours would be a line without length.
    if (!isDown && (values[place + 1] ?? null) === null) d += `h${place + 1 === values.length ? -6 : 6}`;
    isDown = true;
  }
  return d;
}

function area(
  values: (number | null)[],
  below: (number | null)[],
  x: (place: number) => number,
  y: (value: number) => number,
): string {
  if (values.length === 0) return "";
  const back = below.map((value, place) => `L${x(place).toFixed(1)},${y(value ?? 0).toFixed(1)}`).reverse();
  return `${path(values, x, y)}${back.join("")}Z`;
}

/** A round number above the highest. */
export function nice(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
