import { describe, expect, test } from "vitest";
import { fieldsOf, payloadOf } from "./signalForm";

const APPROVAL = {
  $ref: "#/$defs/Approval",
  $defs: {
    Approval: {
      title: "Approval",
      type: "object",
      properties: {
        by: { type: "string", description: "Who" },
        is_good: { type: "boolean" },
        amount: { type: "number" },
        level: { $ref: "#/$defs/Level" },
        note: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
        parts: { type: "array", items: {} },
      },
      required: ["by", "is_good", "amount"],
    },
    Level: { enum: ["low", "high"] },
  },
};

describe("the form of a signal", () => {
  test("has an input for each property, by its type", () => {
    const fields = fieldsOf(APPROVAL) ?? [];
    expect(fields.map((field) => [field.name, field.kind, field.isRequired])).toEqual([
      ["by", "text", true],
      ["is_good", "yes or no", true],
      ["amount", "number", true],
      ["level", "choice", false],
      ["note", "text", false],
      ["parts", "json", false],
    ]);
    expect(fields[0]?.hint).toBe("Who");
    expect(fields[3]?.choices).toEqual(['"low"', '"high"']);
  });

  test("sends what was written, numbers to the digit, and leaves out what was not", () => {
    const fields = fieldsOf(APPROVAL) ?? [];
    const written = {
      by: 'a"b',
      is_good: "true",
      amount: "12345678901234567890.10",
      level: '"low"',
      note: "",
      parts: "[1]",
    };
    expect(payloadOf(fields, written).text).toBe(
      '{"by":"a\\"b","is_good":true,"amount":12345678901234567890.10,"level":"low","parts":[1]}',
    );
  });

  test("names the fields that are missing or no JSON", () => {
    const fields = fieldsOf(APPROVAL) ?? [];
    expect(() => payloadOf(fields, { by: "ada" })).toThrow();
    expect(() => payloadOf(fields, { by: "ada", is_good: "true", amount: "1,5" })).toThrow();
  });

  test("is one input for JSON where there is no object to fill in", () => {
    expect(fieldsOf(null)).toBeNull();
    expect(fieldsOf({ type: "boolean" })).toBeNull();
    expect(fieldsOf({ type: "object" })).toBeNull();
  });
});
