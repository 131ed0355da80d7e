import { describe, expect, it } from "vitest";
import { canRemove, isEmptied, share } from "./shards";

const EMPTIED = { state: "draining", slots: 0, left: 0, unfinished: 0, is_away: false } as const;

describe("shards", () => {
  it("gives a number of slots as a percentage", () => {
    expect([0, 1, 1024, 4096].map(share)).toEqual(["0 %", "< 1 %", "25 %", "100 %"]);
  });

  it("can be removed once nothing is left in them", () => {
    expect(isEmptied(EMPTIED)).toBe(true);
    expect(canRemove(EMPTIED)).toBe(true);
    for (const change of [{ state: "active" }, { slots: 1 }, { left: 3 }, { left: null }, { unfinished: 2 }] as const) {
      expect(canRemove({ ...EMPTIED, ...change })).toBe(false);
    }
    expect(canRemove({ ...EMPTIED, is_away: true })).toBe(false);
  });
});
