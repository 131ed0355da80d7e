import { describe, expect, it } from "vitest";
import { between, full, relative, span, stretch } from "./time";

describe("times in words", () => {
  it("names the two largest units", () => {
    expect([span(0.85), span(4.2), span(192), span(187_200)]).toEqual(["850 ms", "4.2 s", "3 min 12 s", "2 d 4 h"]);
  });

  it("tells the past from the future", () => {
    const now = Date.parse("2026-01-02T03:04:05Z");
    expect(relative("2026-01-02T03:03:05Z", now)).toBe("1 min ago");
    expect(relative("2026-01-02T03:05:05Z", now)).toBe("in 1 min");
  });

  it.each([
    ["Europe/Berlin", "25 Oct 2026, 02:30:00"],
    ["Asia/Kolkata", "25 Oct 2026, 07:00:00"],
    ["America/St_Johns", "24 Oct 2026, 23:00:00"],
  ])("knows the hour that comes twice, in %s", (zone, text) => {
    expect(full("2026-10-25T01:30:00Z", zone)).toBe(text);
  });

  it("names the day of a stretch of time once", () => {
    expect(stretch("2026-11-18T14:00:00Z", "2026-11-18T15:30:00Z", "utc")).toBe("18 Nov 14:00 – 15:30");
    expect(stretch("2026-11-17T22:00:00Z", "2026-11-18T06:00:00Z", "utc")).toBe("17 Nov 22:00 – 18 Nov 06:00");
  });

  it("has no duration without a start", () => {
    expect(between(null, null)).toBe("–");
  });
});
