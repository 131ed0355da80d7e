import { describe, expect, it } from "vitest";
import { axisOf } from "./axis";

const stretch = (from: number, to: number) => ({ from: from * 1000, to: to * 1000 });

describe("an axis of time", () => {
  it("is even where nothing is shortened", () => {
    const axis = axisOf([stretch(0, 100)], [stretch(0, 10)], false);

    expect(axis.at(25_000)).toBe(0.25);
    expect(axis.ticks.map(({ label }) => label)).toEqual(["0", "25 s", "50 s", "1 min 15 s", "1 min 40 s"]);
    expect(axis.breaks).toEqual([]);
  });

  it("tells its moments apart, however close they are", () => {
    const axis = axisOf([stretch(0, 7.8)], [stretch(7.7, 7.8)], true);

    const labels = axis.ticks.map(({ label }) => label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(labels.at(-1)).toBe("7.80 s");
  });

  it("draws a long wait short, and says where", () => {
    const busy = [stretch(0, 10), stretch(1000, 1010)];
    const axis = axisOf([stretch(0, 1010)], busy, true);

    expect(axis.breaks).toEqual([stretch(10, 1000)]);
    expect(axis.at(10_000)).toBeGreaterThan(0.45);
    expect(axis.at(1_000_000) - axis.at(10_000)).toBeCloseTo(1.2 / 21.2);
    expect(axis.at(1_010_000)).toBe(1);
    expect(axis.ticks.at(-1)?.label).toBe("16 min 50 s");
  });

  it("keeps short waits as long as they were, and moments in order", () => {
    const busy = [stretch(0, 10), stretch(12, 20), stretch(15, 18)];
    const axis = axisOf([stretch(0, 20)], busy, true);

    expect(axis.breaks).toEqual([]);
    expect(axis.at(11_000)).toBeCloseTo(0.55);
  });

  it("has room for what has not taken any time", () => {
    const axis = axisOf([stretch(5, 5)], [stretch(5, 5)], true);

    expect(axis.at(5_000)).toBe(0);
  });
});
