import { describe, expect, it } from "vitest";
import { missingIn } from "./missing";

describe("missingIn", () => {
  it("finds what an answer says it misses, in each of its pages", () => {
    expect(missingIn({ items: [], incomplete: ["pg2"] })).toEqual(["pg2"]);
    expect(missingIn({ pages: [{ items: [] }, { items: [], incomplete: ["pg2", "pg3"] }], pageParams: [] })).toEqual([
      "pg2",
      "pg3",
    ]);
  });

  it("finds nothing in answers that are whole, or not there", () => {
    expect([undefined, null, "text", { items: [] }, { pages: [] }].flatMap(missingIn)).toEqual([]);
  });
});
