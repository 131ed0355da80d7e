import { describe, expect, it } from "vitest";
import { rangeOf, SEEN, SUBMITTED, withRange, written } from "./range";

const RANGE = { from: "2026-11-18T14:00:00Z", until: "2026-11-18T15:30:00Z" };

describe("ranges", () => {
  it("are terms of a filter beside others", () => {
    const filter = withRange("error:timeout", SUBMITTED, RANGE);

    expect(filter).toBe("error:timeout created>=2026-11-18T14:00:00Z created<2026-11-18T15:30:00Z");
    expect(rangeOf(filter, SUBMITTED)).toEqual(RANGE);
    expect(withRange(filter, SUBMITTED, { ...RANGE, until: "2026-11-19T00:00:00Z" })).toBe(
      "error:timeout created>=2026-11-18T14:00:00Z created<2026-11-19T00:00:00Z",
    );
    expect(withRange(filter, SUBMITTED, null)).toBe("error:timeout");
  });

  it("leave terms alone that were typed", () => {
    expect(rangeOf("created>2h", SUBMITTED)).toBeNull();
    expect(withRange("created>2h", SUBMITTED, null)).toBe("created>2h");
    expect(rangeOf(undefined, SUBMITTED)).toBeNull();
    expect(rangeOf(withRange("", SEEN, RANGE), SEEN)).toEqual(RANGE);
  });

  it("have whole seconds", () => {
    expect(written(new Date("2026-11-18T14:00:00.000Z"))).toBe("2026-11-18T14:00:00Z");
  });
});
