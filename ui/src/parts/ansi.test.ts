import { describe, expect, it } from "vitest";
import { levelOf, piecesOf } from "./ansi";

describe("lines of a log", () => {
  it("keep the colours of terminals as styles", () => {
    expect(piecesOf("a \u001b[1;31mred\u001b[0m b")).toEqual([
      { text: "a " },
      { text: "red", colour: "red", isBold: true },
      { text: " b" },
    ]);
    expect(piecesOf("\u001b[2Kplain\u001b[38;5;7m!")).toEqual([{ text: "plain" }, { text: "!" }]);
  });

  it("have links to addresses of the web and to nothing else", () => {
    expect(piecesOf("see https://example.org/a?b=1.").map(({ text, href }) => [text, href])).toEqual([
      ["see ", undefined],
      ["https://example.org/a?b=1", "https://example.org/a?b=1"],
      [".", undefined],
    ]);
    expect(piecesOf("javascript:alert(1) file:///etc/passwd").every((piece) => piece.href === undefined)).toBe(true);
  });

  it("have a level if logging wrote them", () => {
    expect(levelOf("2026-01-02T03:04:05.123Z WARNING app: x")).toBe("warning");
    expect(levelOf("ERROR: x")).toBe("error");
    expect(levelOf("an ERROR inside")).toBeNull();
  });
});
