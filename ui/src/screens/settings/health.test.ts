import { describe, expect, it } from "vitest";
import { partOf, wordsOf } from "./health";

describe("what parts of the server say", () => {
  it("is a sentence where the part is known", () => {
    expect(wordsOf("diskSpace", { total: 2 ** 38, free: 2 ** 36, threshold: 2 ** 26 })).toBe(
      "64.0 GiB of 256.0 GiB free; unhealthy below 64 MiB",
    );
    expect(wordsOf("config", { version: 0, needs_restart: [] })).toBe("Nothing is set");
    expect(wordsOf("config", { version: 3, needs_restart: ["log.level"] })).toBe(
      "Version 3; applies after a restart: log.level",
    );
  });

  it("is names and values where it is not, without those that are empty", () => {
    expect(partOf("mailServer")).toBe("Mail server");
    expect(wordsOf("mailServer", { open_links: 2, faults: [], last: null })).toBe("open links 2");
    expect(wordsOf("db", { error: "away" })).toBe("error away");
  });
});
