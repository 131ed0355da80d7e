import { expect, it } from "vitest";
import { rateOf } from "./limitRate";

it("says the rate of a limit as people do", () => {
  expect(["20/1s", "100/60s"].map(rateOf)).toEqual(["20 per second", "100 per 60 s"]);
});
