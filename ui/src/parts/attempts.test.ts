import { expect, it } from "vitest";
import { attemptWords } from "./attempts";

it("does not say that an attempt is the second of one", () => {
  expect([attemptWords(0, 3), attemptWords(1, 0), attemptWords(2, 0)]).toEqual(["0 of 4", "1 of 1", "2"]);
});
