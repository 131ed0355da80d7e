import { describe, expect, it } from "vitest";
import { differencesOf } from "./differences";

describe("the differences of two values", () => {
  it("are told by their place", () => {
    const before = { order: 7, lines: [{ sku: "a" }, { sku: "b" }], gone: true };
    const after = { order: 8, lines: [{ sku: "a" }, { sku: "c" }], came: null };
    expect(differencesOf(before, after)).toEqual([
      { path: "order", before: "7", after: "8" },
      { path: "lines[1].sku", before: '"b"', after: '"c"' },
      { path: "gone", before: "true", after: undefined },
      { path: "came", before: undefined, after: "null" },
    ]);
  });

  it("are none between equal values, and one between values of two kinds", () => {
    expect(differencesOf({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
    expect(differencesOf([1], { 0: 1 })).toEqual([{ path: "(root)", before: "[1]", after: '{"0":1}' }]);
  });

  it("stop after some", () => {
    const many = (by: number) =>
      Object.fromEntries(Array.from({ length: 500 }, (_, place) => [`k${place}`, place + by]));
    expect(differencesOf(many(0), many(1))).toHaveLength(100);
  });
});
