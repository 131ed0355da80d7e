import { expect, it } from "vitest";
import { last24 } from "./trend";

it("says that there may be more where an hour has as many failures as are counted", () => {
  expect(last24([0, 3, 99])).toBe("102 in the last 24 hours");
  expect(last24([1000, 0, 100])).toBe("1,100+ in the last 24 hours");
});
