import { describe, expect, it } from "vitest";
import type { Problem } from "@/api/problem";
import { fieldsOf, payloadOf, written } from "./form";

const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string" },
    count: { type: "integer", default: 3 },
    mode: { enum: ["fast", "slow"] },
    extra: { type: "object" },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
  required: ["name"],
};

function faults(texts: Record<string, string>, schema: Record<string, unknown> = SCHEMA): unknown {
  try {
    return payloadOf(fieldsOf(schema), texts);
  } catch (error) {
    return (error as Problem).faults;
  }
}

describe("a form from a schema", () => {
  it("knows what each field is", () => {
    expect(fieldsOf(SCHEMA).map((field) => [field.name, field.kind, field.isRequired])).toEqual([
      ["name", "text", true],
      ["count", "integer", false],
      ["mode", "choice", false],
      ["extra", "json", false],
      ["maybe", "text", false],
    ]);
  });

  it("makes a payload, and leaves out what is empty", () => {
    const payload = payloadOf(fieldsOf(SCHEMA), { name: 'a "b"', extra: '{"x": [1]}' });
    expect(JSON.parse(payload)).toEqual({ name: 'a "b"', count: 3, extra: { x: [1] } });
  });

  it("keeps numbers that JavaScript would round", () => {
    const fields = fieldsOf({ type: "object", properties: { id: { type: "integer" } } });
    expect(payloadOf(fields, { id: "9007199254740993" })).toBe('{"id": 9007199254740993}');
  });

  it("says which numbers are wrong, at their own fields", () => {
    const schema = { properties: { whole: { type: "integer" }, share: { type: "number" } } };
    expect(faults({ whole: "twelve", share: "0,5" }, schema)).toEqual({
      "payload.whole": "must be a number, such as 3 or 0.5",
      "payload.share": "must be a number, such as 3 or 0.5",
    });
    expect(faults({ whole: "2.5", share: "true" }, schema)).toEqual({
      "payload.whole": "must be a whole number",
      "payload.share": "must be a number, such as 3 or 0.5",
    });
    expect(faults({ whole: "2", share: "1e-3" }, schema)).toBe('{"whole": 2, "share": 1e-3}');
  });

  it("does not send a required text that was left empty", () => {
    expect(faults({})).toEqual({ "payload.name": "is required" });
    expect(faults({ name: "" })).toEqual({ "payload.name": "is required" });
  });

  it("sends a text as it was typed", () => {
    expect(JSON.parse(payloadOf(fieldsOf(SCHEMA), { name: "  two spaces " }))).toMatchObject({ name: "  two spaces " });
  });

  it("sends a choice as the value that it is, its default included", () => {
    const fields = fieldsOf({ properties: { level: { enum: [1, 2] }, mode: { enum: ["a", "b"], default: "b" } } });
    expect(payloadOf(fields, { level: "2" })).toBe('{"level": 2, "mode": "b"}');
  });

  it("goes on as JSON with what is right so far", () => {
    expect(written(fieldsOf(SCHEMA), { count: "x", mode: '"fast"' })).toBe('{"mode": "fast"}');
  });
});
