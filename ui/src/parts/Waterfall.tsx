import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { LucideIcon } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { texts } from "@/texts";
import { type Axis, axisOf } from "./axis";
import { span } from "./time";
import css from "./Waterfall.module.css";

/** A stretch of a row. What waited for its time or its turn is idle; what ran has the tone of how it went. */
export interface Bar {
  kind: "delayed" | "waited" | "ran";
  from: number;
  to: number;
  tone?: string;
  title: string;
}

export interface Row {
  id: string;
  label: string;
  icon?: LucideIcon;
  /** How far it is indented. */
  depth?: number;
  bars: Bar[];
  /** What is said of it at the end of its line. */
  text: string;
  /** How long what ran last usually takes, in seconds, from when it started. */
  usual?: Usual | undefined;
  /** The task that it is about. */
  taskId?: string;
  isCritical?: boolean;
}

export interface Usual {
  from: number;
  p50: number;
  p95: number;
}

interface Props {
  label: string;
  rows: Row[];
  /** What is said beside the switch. */
  note?: string | undefined;
  selected?: string | null;
  onSelect?: (id: string) => void;
}

const HEIGHT = 28;
/** Letters of a label beyond which a narrow screen has no room for three. */
const LONG = 6;

/** What happened when, row by row on one axis of time. */
export function Waterfall({ label, rows, note, selected, onSelect }: Props) {
  const [isShort, setShort] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const axis = useMemo(() => axisFor(rows, isShort), [rows, isShort]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 20,
  });
  const canShorten = isShort ? axis.breaks.length > 0 : axisFor(rows, true).breaks.length > 0;
  const kinds = new Set(rows.flatMap((row) => row.bars.map((bar) => bar.kind)));
  return (
    <div className={css.waterfall}>
      <div className={css.head}>
        {note && <span className={css.note}>{note}</span>}
        {kinds.has("delayed") && <Sign kind="delayed">{texts.parts.notDueYet}</Sign>}
        {kinds.has("waited") && <Sign kind="waited">{texts.parts.waitingWord}</Sign>}
        {rows.some(({ usual }) => usual && axis.at(usual.from + usual.p50 * 1000) < 1) && (
          <Sign kind="usual">{texts.parts.usualP50ToP95}</Sign>
        )}
        {canShorten && (
          <label>
            <input type="checkbox" checked={isShort} onChange={(event) => setShort(event.target.checked)} />{" "}
            {texts.parts.compressIdleTime}
          </label>
        )}
      </div>
      <div className={css.axis} aria-hidden="true">
        <span className={css.ticks} data-long={axis.ticks.some(({ label }) => label.length > LONG) || undefined}>
          {axis.ticks.map((tick) => (
            <span key={tick.at} style={{ left: percent(tick.at) }}>
              {tick.label}
            </span>
          ))}
        </span>
      </div>
      <div ref={box} className={css.box} tabIndex={0} role="group" aria-label={label}>
        <div className={css.rows} style={{ height: virtual.getTotalSize() }}>
          <div className={css.ground} aria-hidden="true">
            <span>
              {axis.ticks.map((tick) => (
                <i key={tick.at} className={css.line} style={{ left: percent(tick.at) }} />
              ))}
              {axis.breaks.map((one) => (
                <i
                  key={one.from}
                  className={css.break}
                  style={{ left: percent(axis.at(one.from)), width: percent(axis.at(one.to) - axis.at(one.from)) }}
                  title={texts.parts.valueInWhichNothingRan(span((one.to - one.from) / 1000))}
                />
              ))}
            </span>
          </div>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const common = { className: css.row ?? "", style: { transform: `translateY(${item.start}px)` } };
            const content = <Line key={row.id} row={row} axis={axis} />;
            if (onSelect) {
              return (
                <button
                  key={row.id}
                  type="button"
                  {...common}
                  data-selected={row.id === selected || undefined}
                  onClick={() => onSelect(row.id)}
                >
                  {content}
                </button>
              );
            }
            return row.taskId ? (
              <Link key={row.id} {...common} to="/tasks/$id" params={{ id: row.taskId }}>
                {content}
              </Link>
            ) : (
              <div key={row.id} {...common}>
                {content}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Line({ row, axis }: { row: Row; axis: Axis }) {
  const Icon = row.icon;
  const slow = slowness(row);
  return (
    <>
      <span className={css.label} style={{ paddingLeft: (row.depth ?? 0) * 16 }} title={row.label}>
        {Icon && <Icon size={13} aria-hidden="true" />}
        <span>{row.label}</span>
      </span>
      <span className={css.track} aria-hidden="true">
        {row.bars.map((bar) => (
          <i
            key={`${bar.kind}${bar.from}`}
            className={css[bar.kind]}
            data-tone={bar.tone}
            data-critical={(row.isCritical && bar.kind === "ran") || undefined}
            title={bar.title}
            style={{
              left: percent(axis.at(bar.from)),
              width: `max(3px, ${percent(axis.at(bar.to) - axis.at(bar.from))})`,
            }}
          />
        ))}
        {row.usual && <UsualMark usual={row.usual} axis={axis} />}
      </span>
      <span className={css.text} data-slow={slow !== null || undefined} title={slow ?? row.text}>
        {row.text}
        {slow && <span className={css.slow}>{slow}</span>}
      </span>
    </>
  );
}

function UsualMark({ usual: { from, p50, p95 }, axis }: { usual: Usual; axis: Axis }) {
  const [left, right] = [axis.at(from + p50 * 1000), axis.at(from + p95 * 1000)];
  if (left >= 1) return null;
  return (
    <i
      className={css.usual}
      data-beyond={right >= 1 || undefined}
      title={texts.parts.usualP50ValueP95Value2(span(p50), span(p95))}
      style={{ left: percent(left), width: `max(2px, ${percent(right - left)})` }}
    />
  );
}

function Sign({ kind, children }: { kind: string; children: string }) {
  return (
    <span className={css.sign}>
      <i className={css[kind]} aria-hidden="true" /> {children}
    </span>
  );
}

/** The axis of all rows, and of how long they usually take if that is not much longer. */
function axisFor(rows: readonly Row[], isShort: boolean): Axis {
  const bars = rows.flatMap((row) => row.bars);
  const ran = bars.filter((bar) => bar.kind === "ran");
  const from = bars.reduce((least, bar) => Math.min(least, bar.from), Number.POSITIVE_INFINITY);
  const to = bars.reduce((most, bar) => Math.max(most, bar.to), from);
  const most = to + (to - from) / 2;
  const usual = rows.flatMap(({ usual }) => (usual ? [{ from: usual.from, to: usual.from + usual.p95 * 1000 }] : []));
  const fitting = usual.map((one) => ({ from: one.from, to: Math.min(one.to, most) }));
  return axisOf([...bars, ...fitting], [...ran, ...fitting], isShort);
}

/** How much longer than usual the last run took, in words; nothing if it was within the usual. */
export function slowness({ usual, bars }: Pick<Row, "usual" | "bars">): string | null {
  const last = bars.filter((bar) => bar.kind === "ran").at(-1);
  if (!usual || !last || usual.p50 <= 0) return null;
  const took = (last.to - last.from) / 1000;
  // Durations are known by classes, each up to twice as long as the one before.
  if (took <= usual.p95 || took < 2 * usual.p50 || took < 0.05) return null;
  const times = took / usual.p50;
  return texts.parts.timesUsual(times >= 10 ? String(Math.round(times)) : times.toFixed(1));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)}%`;
}
