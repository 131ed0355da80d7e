import { describe, expect, it } from "vitest";
import { BigNumber, decode, encode, queryOf, RawJson } from "./numbers";

describe("numbers", () => {
  it("too large for JavaScript stay what they are", () => {
    const value = decode('{"id": 9007199254740993, "small": 7, "half": 0.5}') as Record<string, unknown>;
    expect(String(value.id)).toBe("9007199254740993");
    expect(value.small).toBe(7);
    expect(value.half).toBe(0.5);
  });

  it("are shown without quotes", () => {
    expect(`${new BigNumber("12345678901234567890")}`).toBe("12345678901234567890");
  });
});

describe("what is sent", () => {
  it("keeps the numbers that somebody typed, and those that came", () => {
    const body = {
      payload: new RawJson('{"id": 9007199254740993}'),
      old: decode("[12345678901234567890]"),
      a: "\\u0000",
    };
    expect(encode(body)).toBe('{"payload":{"id": 9007199254740993},"old":[12345678901234567890],"a":"\\\\u0000"}');
  });
});

describe("queries", () => {
  it("leave out what is not given", () => {
    expect(queryOf({ a: 1, b: undefined, c: ["x", "y"], d: "" })).toBe("?a=1&c=x&c=y");
  });
});
