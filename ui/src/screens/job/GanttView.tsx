import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import { Empty } from "@/parts/States";
import { statusTone, statusWord } from "@/parts/Status";
import { between, span } from "@/parts/time";
import css from "./GanttView.module.css";
import type { Node } from "./model";

interface Props {
  nodes: Node[];
  createdAt: string;
  selected: string | null;
  onSelect: (key: string) => void;
}

/** When each task waited and ran. Waiting can be hidden, so that a long queue does not flatten the rest. */
export function GanttView({ nodes, createdAt, selected, onSelect }: Props) {
  const [isWaitShown, setWaitShown] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const started = nodes.filter((node) => node.started_at);
  const now = Date.now();
  const ends = new Map(nodes.map((node) => [node.key, node.finished_at]));
  const rows = started
    .map((node) => ({
      node,
      ready: isWaitShown ? Math.min(readyAt(node, ends, createdAt), time(node.started_at)) : time(node.started_at),
      start: time(node.started_at),
      end: node.finished_at ? time(node.finished_at) : now,
    }))
    .sort((a, b) => a.start - b.start);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 28,
    overscan: 20,
  });
  if (rows.length === 0) return <Empty title="Nothing has started yet" />;
  const first = Math.min(...rows.map((row) => row.ready));
  const last = Math.max(...rows.map((row) => row.end), first + 1);
  const share = (at: number) => `${((at - first) / (last - first)) * 100}%`;
  return (
    <div className={css.gantt}>
      <div className={css.bar}>
        <label>
          <input type="checkbox" checked={isWaitShown} onChange={(event) => setWaitShown(event.target.checked)} /> Show
          waiting
        </label>
        <span>{span((last - first) / 1000)} in all</span>
        {rows.length < nodes.length && <span>{nodes.length - rows.length} never started</span>}
      </div>
      <div className={css.axis} aria-hidden="true">
        <span className={css.ticks}>
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <span key={part}>{part === 0 ? "0" : span(((last - first) / 1000) * part)}</span>
          ))}
        </span>
      </div>
      <div ref={box} className={css.box} tabIndex={0} role="group" aria-label="Times; the list tab has the same">
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const { node } = row;
            return (
              <button
                key={node.key}
                type="button"
                className={css.row}
                data-selected={node.key === selected || undefined}
                style={{ transform: `translateY(${item.start}px)` }}
                title={`${node.key}: ${statusWord(node.status)}, ${between(node.started_at, node.finished_at)}`}
                onClick={() => onSelect(node.key)}
              >
                <span className={css.key}>{node.key}</span>
                <span className={css.track}>
                  {row.ready < row.start && (
                    <i
                      className={css.wait}
                      style={{ left: share(row.ready), width: widthOf(row.ready, row.start, first, last) }}
                    />
                  )}
                  <i
                    className={css.run}
                    data-tone={statusTone(node.status)}
                    data-critical={node.is_critical || undefined}
                    style={{ left: share(row.start), width: widthOf(row.start, row.end, first, last) }}
                  />
                </span>
                <span className={css.took}>{between(node.started_at, node.finished_at)}</span>
              </button>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** When a task could have started: when the last of those it needs had ended. */
function readyAt(node: Node, ends: Map<string, string | null>, createdAt: string): number {
  return Math.max(time(createdAt), ...node.needs.map((key) => time(ends.get(key) ?? null)));
}

function time(iso: string | null): number {
  return iso ? new Date(iso).getTime() : 0;
}

function widthOf(from: number, to: number, first: number, last: number): string {
  return `max(2px, ${((to - from) / (last - first)) * 100}%)`;
}
