import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "@/parts/Button";
import { statusTone, statusWord } from "@/parts/Status";
import { between } from "@/parts/time";
import css from "./GraphView.module.css";
import { HEIGHT, layout, WIDTH } from "./layout";
import { type Box, countsOf, draw, type Node, statusOf } from "./model";

interface Props {
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

interface View {
  x: number;
  y: number;
  scale: number;
}

const MANY = 60;
/** What can be read is not made smaller than this at first sight; the rest is a drag away. */
const READABLE = 0.62;

/** The graph: arrows from cause to effect, the critical path bold. Drag to move, the wheel or the buttons zoom. */
export function GraphView({ nodes, selected, onSelect }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const shape = nodes.map((node) => `${node.key}<${node.needs.join()}`).join(";");
  const drawing = useMemo(() => draw(nodes, open), [nodes, open]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: places depend on the shape alone, states change all the time
  const placed = useMemo(() => layout(drawing), [shape, open]);
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });

  function toFit(least = 0.12) {
    const box = frame.current?.getBoundingClientRect();
    if (!box || placed.width === 0) return;
    const scale = Math.min(1, Math.max(least, Math.min(box.width / placed.width, box.height / placed.height)));
    setView({
      scale,
      x: Math.max(0, (box.width - placed.width * scale) / 2),
      y: Math.max(0, (box.height - placed.height * scale) / 2),
    });
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another drawing is fitted anew
  useEffect(() => toFit(drawing.boxes.length > MANY ? undefined : READABLE), [placed]);

  function zoom(by: number, at?: { x: number; y: number }) {
    setView((before) => {
      const scale = Math.min(2, Math.max(0.1, before.scale * by));
      const box = frame.current?.getBoundingClientRect();
      const { x, y } = at ?? { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) / 2 };
      const ratio = scale / before.scale;
      return { scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio };
    });
  }
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaY) < 4) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.12 : 1 / 1.12, { x: event.clientX - box.left, y: event.clientY - box.top });
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const drag = useRef<{ x: number; y: number } | null>(null);
  function choose(box: Box) {
    if (box.nodes.length > 1) setOpen(new Set([...open, box.id]));
    else if (box.nodes[0]) onSelect(box.nodes[0].key);
  }
  function onKey(event: KeyboardEvent, box: Box) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(box);
      return;
    }
    const next = neighbour(event.key, box.id, placed.at);
    if (!next) return;
    event.preventDefault();
    frame.current?.querySelector<SVGGElement>(`[data-box="${CSS.escape(next)}"]`)?.focus();
  }
  return (
    <div className={css.graph}>
      <div className={css.tools}>
        <IconButton icon={ZoomIn} label="Zoom in" onClick={() => zoom(1.25)} />
        <IconButton icon={ZoomOut} label="Zoom out" onClick={() => zoom(0.8)} />
        <IconButton icon={Maximize2} label="Fit" onClick={() => toFit()} />
      </div>
      <div
        ref={frame}
        className={css.frame}
        style={{ height: `clamp(260px, ${Math.round(placed.height + 60)}px, min(62vh, 640px))` }}
        onPointerDown={(event) => {
          if ((event.target as Element).closest("[data-box]")) return;
          drag.current = { x: event.clientX - view.x, y: event.clientY - view.y };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (drag.current) setView({ ...view, x: event.clientX - drag.current.x, y: event.clientY - drag.current.y });
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
      >
        <svg width="100%" height="100%" role="group" aria-label="Graph of the job; the list tab has the same">
          <title>Graph of the job</title>
          <defs>
            <Arrow id="arrow" />
            <Arrow id="critical-arrow" isCritical />
          </defs>
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            {placed.paths.map((path) => (
              <path
                key={path.id}
                d={path.d}
                className={css.edge}
                data-critical={path.isCritical || undefined}
                markerEnd={path.isCritical ? "url(#critical-arrow)" : "url(#arrow)"}
              />
            ))}
            {drawing.boxes.map((box, place) => {
              const at = placed.at.get(box.id);
              return at ? (
                <BoxView
                  key={box.id}
                  box={box}
                  at={at}
                  isFirst={place === 0}
                  isSelected={box.nodes.some((node) => node.key === selected)}
                  onChoose={() => choose(box)}
                  onKey={(event) => onKey(event, box)}
                />
              ) : null;
            })}
          </g>
        </svg>
      </div>
    </div>
  );
}

function Arrow({ id, isCritical = false }: { id: string; isCritical?: boolean }) {
  return (
    <marker
      id={id}
      viewBox="0 0 8 8"
      refX="8"
      refY="4"
      markerWidth="10"
      markerHeight="10"
      markerUnits="userSpaceOnUse"
      orient="auto"
    >
      <path d="M0,0 L8,4 L0,8 z" className={css.arrow} data-critical={isCritical || undefined} />
    </marker>
  );
}

interface BoxProps {
  box: Box;
  at: { x: number; y: number };
  isFirst: boolean;
  isSelected: boolean;
  onChoose: () => void;
  onKey: (event: KeyboardEvent) => void;
}

function BoxView({ box, at, isFirst, isSelected, onChoose, onKey }: BoxProps) {
  const status = statusOf(box);
  const [node] = box.nodes;
  const isStack = box.nodes.length > 1;
  const words = isStack
    ? countsOf(box.nodes)
        .map(([one, count]) => `${count} ${statusWord(one).toLowerCase()}`)
        .join(", ")
    : `${statusWord(status)}${node?.started_at ? `, ${between(node.started_at, node.finished_at)}` : ""}`;
  const name = isStack ? `${box.nodes.length} × ${box.title}` : box.title;
  return (
    <g
      transform={`translate(${at.x} ${at.y})`}
      className={css.box}
      data-box={box.id}
      data-tone={statusTone(status)}
      data-critical={box.nodes.some((one) => one.is_critical) || undefined}
      data-selected={isSelected || undefined}
      role="button"
      tabIndex={isFirst ? 0 : -1}
      onClick={onChoose}
      onKeyDown={onKey}
    >
      {isStack && <rect x="5" y="-5" width={WIDTH} height={HEIGHT} rx="8" className={css.behind} />}
      <rect width={WIDTH} height={HEIGHT} rx="8" />
      <text x="12" y="22" className={css.name}>
        {short(name)}
      </text>
      <text x="12" y="40" className={css.words}>
        {short(words)}
      </text>
    </g>
  );
}

function short(text: string): string {
  return text.length > 27 ? `${text.slice(0, 26)}…` : text;
}

const WAYS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The nearest box in the direction of an arrow key. */
function neighbour(key: string, from: string, at: Map<string, { x: number; y: number }>): string | null {
  const way = WAYS[key];
  const start = at.get(from);
  if (!way || !start) return null;
  let best: [number, string] | null = null;
  for (const [id, place] of at) {
    const [dx, dy] = [place.x - start.x, place.y - start.y];
    const ahead = dx * way[0] + dy * way[1];
    if (id === from || ahead <= 4) continue;
    const cost = ahead + 2.5 * Math.abs(dx * way[1] + dy * way[0]);
    if (!best || cost < best[0]) best = [cost, id];
  }
  return best?.[1] ?? null;
}
