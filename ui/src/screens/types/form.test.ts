import { describe, expect, it } from "vitest";
import { fieldsOf, payloadOf } from "./form";

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

describe("a form from a schema", () => {
  it("knows what each field is", () => {
    expect(fieldsOf(SCHEMA).map((field) => [field.name, field.kind, field.isRequired])).toEqual([
      ["name", "text", true],
      ["count", "number", false],
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
});
