import { describe, expect, it } from "vitest";
import { isAmong } from "./patterns";

describe("the patterns of a key", () => {
  it("mean everything where there are none", () => {
    expect(isAmong("shop.charge", [])).toBe(true);
  });

  it("match whole texts, with a star for anything", () => {
    expect(isAmong("shop.charge", ["shop.*"])).toBe(true);
    expect(isAmong("shell", ["shop.*", "mail"])).toBe(false);
    expect(isAmong("mail", ["shop.*", "mail"])).toBe(true);
    expect(isAmong("mailing", ["mail"])).toBe(false);
    expect(isAmong("a-b-c", ["a*b*c"])).toBe(true);
    expect(isAmong("abc", ["ab*bc"])).toBe(false);
    expect(isAmong("a".repeat(255), ["*a*a*a*a*ab"])).toBe(false);
  });
});
