import { expect, it } from "vitest";
import { decode } from "@/api/numbers";
import { payloadLine } from "./summary";

it("a payload is one line of its fields, with large numbers whole", () => {
  expect(payloadLine(decode('{"order_id": 9007199254740993, "to": "a\\nb", "items": [1, {"x": null}]}'))).toBe(
    'order_id: 9007199254740993, to: "a\\nb", items: [1,{"x":null}]',
  );
  expect(payloadLine([1, 2])).toBe("[1,2]");
  expect(payloadLine(decode("12345678901234567890"))).toBe("12345678901234567890");
});

it("a payload that is absent or empty has no line, and a long one is cut", () => {
  expect([payloadLine(undefined), payloadLine(null), payloadLine({})]).toEqual(["", "", ""]);
  expect(payloadLine({ text: "x".repeat(500) })).toHaveLength(201);
});
