import { type PointerEvent, type ReactNode, useId, useState } from "react";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { Button } from "./Button";
import css from "./Chart.module.css";
import { Table } from "./Table";
import { clock, tick } from "./time";

export interface Line {
  name: string;
  tone: string;
  values: (number | null)[];
  /** A limit that other lines are held against: dashed, and nothing is filled below it. */
  isLimit?: boolean;
}

interface Props {
  title: string;
  times: string[];
  lines: Line[];
  /** Whether the lines lie on top of one another. */
  stacked?: boolean;
  format: (value: number) => string;
  /** The round value at the top of the axis, for the highest value there is. */
  topOf?: (highest: number) => number;
  /** What leads on from here. */
  aside?: ReactNode;
  /** What charts of the same times have in common. */
  shared?: Shared;
  marks?: readonly Mark[];
}

/** Something that happened at a time, which may explain what the lines do. */
export interface Mark {
  at: string;
  kind: string;
  text: string;
}

/** Charts beside one another: the time that the pointer is at is marked in all, and a stretch chosen in one is for all. */
export interface Shared {
  at: string | null;
  onAt: (time: string | null) => void;
  onZoom: (from: string, until: string) => void;
}

const [WIDTH, HEIGHT, BOTTOM] = [600, 150, 4];
/** Steps of time that a chosen stretch has at least: less is a click. */
const SHORTEST = 2;

/** A chart over time. The pointer reads it, and a table says the same. */
export function Chart({
  title,
  times,
  lines,
  stacked = false,
  format,
  topOf = nice,
  aside,
  shared,
  marks = [],
}: Props) {
  const { zone } = usePreferences();
  const [own, setOwn] = useState<string | null>(null);
  const [held, setHeld] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const id = useId();
  const found = times.indexOf((shared ? shared.at : own) ?? "");
  const at = found < 0 ? null : found;
  const setAt = (place: number | null) => (shared?.onAt ?? setOwn)(place === null ? null : (times[place] ?? null));
  const placeOf = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1))));
  };
  const release = () => {
    if (held !== null && at !== null && Math.abs(at - held) >= SHORTEST) {
      shared?.onZoom(times[Math.min(at, held)] ?? "", times[Math.max(at, held)] ?? "");
    }
    setHeld(null);
  };
  const sums = stacked ? stack(lines) : lines.map((line) => line.values);
  const top = topOf(Math.max(0, ...sums.flat().map((value) => value ?? 0)));
  const x = (place: number) => (times.length < 2 ? WIDTH : (place / (times.length - 1)) * WIDTH);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const shown = at ?? latestOf(times, lines);
  return (
    <figure className={css.chart} aria-labelledby={id}>
      <figcaption className={css.head}>
        <h2 id={id}>{title}</h2>
        {aside && <span className={css.aside}>{aside}</span>}
        <Button tone="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? texts.parts.chart : texts.parts.table}
        </Button>
      </figcaption>
      <ul className={css.legend}>
        {lines.map((line) => (
          <li key={line.name} data-tone={line.tone}>
            <i aria-hidden="true" />
            {line.name} <strong>{valueText(line.values[shown], format)}</strong>
          </li>
        ))}
        <li className={css.when}>{times[shown] && (at === null ? texts.parts.latest : clock(times[shown], zone))}</li>
      </ul>
      {isTable ? (
        <div className={css.table}>
          <Table head={[texts.parts.time, ...lines.map((line) => line.name)]}>
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
          <div className={css.values} aria-hidden="true">
            {[top, top / 2, 0].map((value) => (
              <span key={value} style={{ top: y(value) }}>
                {value === 0 ? "0" : format(value)}
              </span>
            ))}
          </div>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={texts.parts.titleTheTableHasThe(title)}
            data-zooms={shared ? true : undefined}
            onPointerDown={(event) => {
              if (!shared || event.pointerType !== "mouse" || event.button !== 0) return;
              event.preventDefault();
              setHeld(placeOf(event));
            }}
            onPointerMove={(event) => setAt(placeOf(event))}
            onPointerUp={release}
            onPointerLeave={() => {
              release();
              setAt(null);
            }}
          >
            <path d={[0, top / 2, top].map((value) => `M0,${y(value)}H${WIDTH}`).join("")} className={css.grid} />
            {lines.map((line, place) => {
              const values = sums[place] ?? [];
              const below = stacked && place > 0 ? (sums[place - 1] ?? []) : values.map(() => 0);
              return (
                <g key={line.name} data-tone={line.tone} data-limit={line.isLimit || undefined}>
                  {!line.isLimit && (
                    <path d={area(values, below, x, y)} className={css.area} data-stacked={stacked || undefined} />
                  )}
                  <path d={path(values, x, y)} className={css.line} />
                  <path d={dots(values, x, y)} className={css.dots} />
                </g>
              );
            })}
            {held !== null && at !== null && (
              <rect
                x={x(Math.min(held, at))}
                y="0"
                width={Math.abs(x(at) - x(held))}
                height={HEIGHT}
                className={css.brush}
              />
            )}
            {at !== null && <path d={`M${x(at)},0V${HEIGHT}`} className={css.cursor} />}
          </svg>
          <div className={css.marks} aria-hidden="true">
            {placedMarks(marks, times).map(({ mark, share }) => (
              <i
                key={`${mark.at}${mark.text}`}
                className={css.mark}
                data-kind={mark.kind}
                style={{ left: `${100 * share}%` }}
                title={`${clock(mark.at, zone)}: ${mark.text}`}
              />
            ))}
          </div>
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

/** The marks within the times of a chart, and where they are, from 0 to 1; those of the last bucket are at its start. */
export function placedMarks(marks: readonly Mark[], times: readonly string[]): { mark: Mark; share: number }[] {
  const [first, last] = [Date.parse(times[0] ?? ""), Date.parse(times.at(-1) ?? "")];
  const bucket = 1 / Math.max(1, times.length - 1);
  return marks
    .map((mark) => ({ mark, share: (Date.parse(mark.at) - first) / (last - first) }))
    .filter(({ share }) => share >= 0 && share < 1 + bucket)
    .map(({ mark, share }) => ({ mark, share: Math.min(1, share) }));
}

/** Five moments, evenly spread: what is written under a chart. */
function marksOf(times: string[]): string[] {
  if (times.length < 5) return times;
  return [0, 0.25, 0.5, 0.75, 1].map((share) => times[Math.round(share * (times.length - 1))] ?? "");
}

/** The last bucket, or the one before while nothing is known of the last, which is still being filled. */
export function latestOf(times: string[], lines: readonly Omit<Line, "name" | "tone">[]): number {
  const last = times.length - 1;
  const isKnown = lines.some((line) => !line.isLimit && (line.values[last] ?? null) !== null);
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
    isDown = true;
  }
  return d;
}

/** Values without neighbours: a line through one of them would have no length, round ends make it a dot. */
export function dots(values: (number | null)[], x: (place: number) => number, y: (value: number) => number): string {
  return values
    .map((value, place) => {
      const isAlone = (values[place - 1] ?? null) === null && (values[place + 1] ?? null) === null;
      return value !== null && isAlone ? `M${x(place).toFixed(1)},${y(value).toFixed(1)}h0` : "";
    })
    .join("");
}

/** What is between two lines, stretch by stretch: where a value is missing, nothing is. */
function area(
  values: (number | null)[],
  below: (number | null)[],
  x: (place: number) => number,
  y: (value: number) => number,
): string {
  let d = "";
  let there: string[] = [];
  let back: string[] = [];
  for (const [place, value] of [...values, null].entries()) {
    if (value !== null) {
      there.push(`${x(place).toFixed(1)},${y(value).toFixed(1)}`);
      back.unshift(`${x(place).toFixed(1)},${y(below[place] ?? 0).toFixed(1)}`);
    } else if (there.length > 0) {
      d += `M${there.join("L")}L${back.join("L")}Z`;
      [there, back] = [[], []];
    }
  }
  return d;
}

/** A round number above the highest. */
export function nice(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** Seconds that are round as times, and whose halves are. */
const ROUND = [
  10,
  20,
  40,
  MINUTE,
  2 * MINUTE,
  4 * MINUTE,
  10 * MINUTE,
  20 * MINUTE,
  40 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
];
const ROUND_DAYS = [10 * HOUR, DAY, 2 * DAY];

/** A round time above the longest, in seconds. */
export function niceTime(seconds: number): number {
  if (seconds <= 5) return nice(seconds);
  return [...ROUND, ...ROUND_DAYS].find((round) => round >= seconds) ?? nice(seconds / DAY) * DAY;
}
