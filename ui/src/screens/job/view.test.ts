import { describe, expect, it } from "vitest";
import { boxAt, centred, FAR, first, fitted, isSeen, kept, READABLE, zoomed } from "./view";

const FRAME = { width: 1000, height: 500 };
const LARGE = { width: 5000, height: 8000 };

describe("the view of a graph", () => {
  it("cannot lose the drawing, however far it is dragged", () => {
    for (const far of [-1e6, 1e6]) {
      const view = kept({ x: far, y: far, scale: 1 }, LARGE, FRAME);
      expect(view.x).toBeLessThanOrEqual(40);
      expect(view.x + LARGE.width).toBeGreaterThanOrEqual(FRAME.width - 40);
      expect(view.y + LARGE.height).toBeGreaterThanOrEqual(FRAME.height - 40);
    }
    expect(kept({ x: 900, y: -50, scale: 1 }, { width: 200, height: 100 }, FRAME)).toEqual({ x: 800, y: 0, scale: 1 });
  });

  it("begins readable at the roots, and fits whole when asked", () => {
    expect(first(LARGE, FRAME)).toEqual({ x: 0, y: 0, scale: READABLE });
    expect(fitted(LARGE, FRAME).scale).toBeCloseTo(500 / 8000);
    expect(fitted(LARGE, FRAME).scale).toBeLessThan(FAR);
  });

  it("zooms about a point, and brings a box into the middle", () => {
    const view = zoomed({ x: 10, y: 20, scale: 1 }, 0.5, { x: 110, y: 120 });
    expect(view).toEqual({ x: 60, y: 70, scale: 0.5 });
    const there = centred(view, { x: 3000, y: 4000 }, FRAME);
    expect(isSeen(there, { x: 3000, y: 4000 }, FRAME)).toBe(true);
    expect(isSeen(there, { x: 0, y: 0 }, FRAME)).toBe(false);
    expect(boxAt(there, { x: 500, y: 250 }, new Map([["it", { x: 3000, y: 4000 }]]))).toBe("it");
  });
});
