import { memo, type PointerEvent, useRef } from "react";
import { Areas } from "./GraphBoxes";
import css from "./GraphView.module.css";
import type { Placed } from "./layout";
import type { Box } from "./model";
import type { Size, View } from "./view";

const LARGEST = { width: 180, height: 120 };

interface Props {
  boxes: readonly Box[];
  placed: Placed;
  view: View;
  frame: Size;
  onMove: (view: View) => void;
}

/** The whole graph, small, and which part of it is seen; press or drag to look elsewhere. */
export function MiniMap({ boxes, placed, view, frame, onMove }: Props) {
  const isHeld = useRef(false);
  const scale = Math.min(LARGEST.width / placed.width, LARGEST.height / placed.height);
  const go = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    onMove({ scale: view.scale, x: frame.width / 2 - x * view.scale, y: frame.height / 2 - y * view.scale });
  };
  return (
    <svg
      className={css.map}
      data-map
      aria-hidden="true"
      width={placed.width * scale}
      height={placed.height * scale}
      viewBox={`0 0 ${placed.width} ${placed.height}`}
      onPointerDown={(event) => {
        isHeld.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => isHeld.current && go(event)}
      onPointerUp={() => {
        isHeld.current = false;
      }}
    >
      <Whole boxes={boxes} at={placed.at} />
      <rect
        className={css.seen}
        x={-view.x / view.scale}
        y={-view.y / view.scale}
        width={frame.width / view.scale}
        height={frame.height / view.scale}
      />
    </svg>
  );
}

const Whole = memo(Areas);
