import { Maximize2, Shrink, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "@/parts/Button";
import { Loading } from "@/parts/States";
import { texts } from "@/texts";
import { Areas, BoxView, Edges } from "./GraphBoxes";
import { GraphSearch, matches } from "./GraphSearch";
import css from "./GraphView.module.css";
import { MiniMap } from "./MiniMap";
import { type Box, draw, GROUP_FROM, type Node } from "./model";
import { useFrame } from "./useFrame";
import { useLayout } from "./useLayout";
import { boxAt, centred, FAR, first, fitted, isSeen, kept, neighbour, type View, zoomed } from "./view";

interface Props {
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

const NOWHERE: View = { x: 0, y: 0, scale: 1 };
const CLICK = 4;

/**
 * The graph: arrows from cause to effect, the critical path bold. Drag to move; the buttons zoom, and so does the wheel
 * while Ctrl or ⌘ is held. Only what is in view is drawn, and from afar only as areas.
 */
export function GraphView({ nodes, selected, onSelect }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [isGrouped, setGrouped] = useState(() => nodes.length > GROUP_FROM);
  const [text, setText] = useState("");
  const [focused, setFocused] = useState<string | null>(null);
  const [view, setView] = useState<View>(NOWHERE);
  const drawing = useMemo(() => draw(nodes, open, isGrouped), [nodes, open, isGrouped]);
  const placed = useLayout({ ids: drawing.boxes.map((box) => box.id), edges: drawing.edges });
  const element = useRef<HTMLDivElement>(null);
  const frame = useFrame(element);
  const move = useCallback(
    (change: (before: View) => View) => setView((before) => (placed ? kept(change(before), placed, frame) : before)),
    [placed, frame],
  );
  const isDrawn = placed !== null && frame.width > 0;
  const fit = useCallback(() => placed && setView(fitted(placed, frame)), [placed, frame]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another drawing is seen from its beginning
  useEffect(() => {
    if (placed && frame.width > 0) setView(first(placed, frame));
  }, [placed, frame.width > 0]);
  const isHinting = useWheel(element, isDrawn, (by, at) => move((before) => zoomed(before, by, at)));

  const choose = useCallback(
    (box: Box) => {
      setFocused(box.id);
      if (box.nodes.length > 1) setOpen((before) => new Set([...before, box.id]));
      else if (box.nodes[0]) onSelect(box.nodes[0].key);
    },
    [onSelect],
  );
  const goTo = useCallback(
    (id: string) => {
      const box = placed?.at.get(id);
      if (!box) return;
      setFocused(id);
      move((before) => (isSeen(before, box, frame) && before.scale >= FAR ? before : centred(before, box, frame)));
    },
    [placed, frame, move],
  );
  const onKey = useCallback(
    (event: KeyboardEvent, box: Box) => {
      const next = placed && neighbour(event.key, box.id, placed.at);
      if (event.key === "Enter" || event.key === " ") choose(box);
      else if (next) goTo(next);
      else return;
      event.preventDefault();
    },
    [choose, goTo, placed],
  );
  useEffect(() => {
    if (!focused || !element.current?.contains(document.activeElement)) return;
    element.current.querySelector<SVGGElement>(`[data-box="${CSS.escape(focused)}"]`)?.focus();
  }, [focused]);

  const isFar = view.scale < FAR;
  const entry = placed?.at.has(focused ?? "") ? focused : drawing.boxes[0]?.id;
  const found = useMemo(() => matches(drawing.boxes, text), [drawing, text]);
  const shown = drawing.boxes.filter((box) => {
    const at = placed?.at.get(box.id);
    if (!at) return false;
    return box.id === entry || (isSeen(view, at, frame) && (!isFar || found?.has(box.id) || isOf(box, selected)));
  });
  const drag = useRef<{ x: number; y: number; far: number } | null>(null);
  return (
    <div className={css.graph}>
      <div className={css.tools}>
        <GraphSearch boxes={drawing.boxes} text={text} found={found} onText={setText} onGo={goTo} />
        <button
          type="button"
          className={css.group}
          aria-pressed={isGrouped && open.size === 0}
          title={texts.job.drawEqualTasksAsOne}
          onClick={() => {
            setGrouped(!isGrouped || open.size > 0);
            setOpen(new Set());
          }}
        >
          {texts.job.groupEqualTasks}
        </button>
        <IconButton
          icon={ZoomIn}
          label={texts.job.zoomIn}
          onClick={() => move((now) => zoomed(now, 1.25, middle(frame)))}
        />
        <IconButton
          icon={ZoomOut}
          label={texts.job.zoomOut}
          onClick={() => move((now) => zoomed(now, 0.8, middle(frame)))}
        />
        <IconButton icon={Maximize2} label={texts.job.fit} onClick={fit} />
        <IconButton icon={Shrink} label={texts.job.reset} onClick={() => placed && setView(first(placed, frame))} />
      </div>
      <div
        ref={element}
        className={css.frame}
        style={{ height: `clamp(max(260px, 40vh), ${Math.round((placed?.height ?? 0) + 60)}px, min(62vh, 640px))` }}
        onPointerDown={(event) => {
          if ((event.target as Element).closest("[data-box], [data-map]")) return;
          drag.current = { x: event.clientX - view.x, y: event.clientY - view.y, far: 0 };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const held = drag.current;
          if (!held) return;
          held.far += Math.abs(event.movementX) + Math.abs(event.movementY);
          move((before) => ({ ...before, x: event.clientX - held.x, y: event.clientY - held.y }));
        }}
        onPointerUp={(event) => {
          const isClick = drag.current !== null && drag.current.far < CLICK;
          drag.current = null;
          const corner = event.currentTarget.getBoundingClientRect();
          const point = { x: event.clientX - corner.left, y: event.clientY - corner.top };
          const id = isFar && isClick && placed ? boxAt(view, point, placed.at) : null;
          if (id) goTo(id);
        }}
      >
        {isDrawn ? (
          <svg
            width="100%"
            height="100%"
            role="group"
            aria-label={texts.job.graphOfTheJobThe}
            data-scale={view.scale.toFixed(3)}
          >
            <title>{texts.job.graphOfTheJob}</title>
            <g
              transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}
              data-searched={found !== null || undefined}
            >
              <Edges edges={drawing.edges} at={placed.at} isShown={(box) => isSeen(view, box, frame)} />
              {isFar && <Areas boxes={drawing.boxes} at={placed.at} />}
              {shown.map((box) => (
                <BoxView
                  key={box.id}
                  box={box}
                  at={placed.at.get(box.id) ?? NOWHERE}
                  canFocus={box.id === entry}
                  isSelected={isOf(box, selected)}
                  isFar={isFar}
                  match={found ? found.has(box.id) : null}
                  onChoose={choose}
                  onKey={onKey}
                />
              ))}
            </g>
          </svg>
        ) : (
          <Loading rows={4} />
        )}
        {isDrawn &&
          (placed.width * view.scale > frame.width + 80 || placed.height * view.scale > frame.height + 80) && (
            <MiniMap
              boxes={drawing.boxes}
              placed={placed}
              view={view}
              frame={frame}
              onMove={(next) => move(() => next)}
            />
          )}
        {isHinting && <p className={css.hint}>{texts.job.holdCtrlOrToZoom}</p>}
      </div>
    </div>
  );
}

function isOf(box: Box, selected: string | null): boolean {
  return selected !== null && box.nodes.some((node) => node.key === selected);
}

function middle(frame: { width: number; height: number }): { x: number; y: number } {
  return { x: frame.width / 2, y: frame.height / 2 };
}

/** Zoom with the wheel while a key is held; without it the page scrolls, and a hint is due until the pointer leaves. */
function useWheel(
  element: React.RefObject<HTMLDivElement | null>,
  isOn: boolean,
  onZoom: (by: number, at: { x: number; y: number }) => void,
): boolean {
  const [isHinting, setHinting] = useState(false);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  useEffect(() => {
    const frame = element.current;
    if (!frame || !isOn) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) {
        setHinting(true);
        return;
      }
      event.preventDefault();
      setHinting(false);
      const box = frame.getBoundingClientRect();
      zoom.current(event.deltaY < 0 ? 1.12 : 1 / 1.12, { x: event.clientX - box.left, y: event.clientY - box.top });
    };
    const onLeave = () => setHinting(false);
    frame.addEventListener("wheel", onWheel, { passive: false });
    frame.addEventListener("pointerleave", onLeave);
    return () => {
      frame.removeEventListener("pointerleave", onLeave);
      frame.removeEventListener("wheel", onWheel);
    };
  }, [element, isOn]);
  return isHinting;
}
