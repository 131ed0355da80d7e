import { HEIGHT, type Placed, type Point, WIDTH } from "./layout";

/** What part of a drawing is seen: `x` and `y` are where its corner is in the frame. */
export interface View extends Point {
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export const SMALLEST = 0.04;
export const LARGEST = 2;
/** What can be read is not made smaller than this at first sight; the rest is a drag away. */
export const READABLE = 0.75;
/** Below this, names cannot be read: boxes are drawn as plain areas of their colour. */
export const FAR = 0.4;
const EDGE = 40;

/** Keep the drawing in the frame: whole where it fits, else without a gap larger than a margin. */
export function kept(view: View, drawing: Size, frame: Size): View {
  return {
    scale: view.scale,
    x: within(view.x, drawing.width * view.scale, frame.width),
    y: within(view.y, drawing.height * view.scale, frame.height),
  };
}

function within(place: number, length: number, room: number): number {
  const [least, most] = length <= room ? [0, room - length] : [room - length - EDGE, EDGE];
  return Math.min(most, Math.max(least, place));
}

/** All of the drawing in the frame, but not smaller than `least`. */
export function fitted(drawing: Size, frame: Size, least = SMALLEST): View {
  const scale = Math.min(1, Math.max(least, Math.min(frame.width / drawing.width, frame.height / drawing.height)));
  return kept(
    { scale, x: (frame.width - drawing.width * scale) / 2, y: (frame.height - drawing.height * scale) / 2 },
    drawing,
    frame,
  );
}

/** At first sight: readable, from the roots on. */
export function first(drawing: Size, frame: Size): View {
  const view = fitted(drawing, frame, READABLE);
  return kept({ ...view, x: Math.max(0, view.x), y: Math.max(0, view.y) }, drawing, frame);
}

/** Nearer or farther, with what is at a point of the frame staying there. */
export function zoomed(view: View, by: number, at: Point): View {
  const scale = Math.min(LARGEST, Math.max(SMALLEST, view.scale * by));
  const ratio = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio };
}

/** With a box in the middle of the frame, at a size at which it can be read. */
export function centred(view: View, box: Point, frame: Size): View {
  const scale = Math.max(view.scale, READABLE);
  return {
    scale,
    x: frame.width / 2 - (box.x + WIDTH / 2) * scale,
    y: frame.height / 2 - (box.y + HEIGHT / 2) * scale,
  };
}

/** Whether a box can be seen, at least in part. */
export function isSeen(view: View, box: Point, frame: Size): boolean {
  const [x, y] = [box.x * view.scale + view.x, box.y * view.scale + view.y];
  return x < frame.width && y < frame.height && x + WIDTH * view.scale > 0 && y + HEIGHT * view.scale > 0;
}

/** The box at a point of the frame. */
export function boxAt(view: View, point: Point, at: Placed["at"]): string | null {
  const [x, y] = [(point.x - view.x) / view.scale, (point.y - view.y) / view.scale];
  for (const [id, box] of at) {
    if (x >= box.x && x <= box.x + WIDTH && y >= box.y && y <= box.y + HEIGHT) return id;
  }
  return null;
}

const WAYS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The nearest box in the direction of an arrow key. */
export function neighbour(key: string, from: string, at: Placed["at"]): string | null {
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
