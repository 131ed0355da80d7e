import { describe, expect, it } from "vitest";
import { levelOf, piecesOf } from "./ansi";

describe("lines of a log", () => {
  it("keep the colours of terminals as styles", () => {
    expect(piecesOf("a \u001b[1;31mred\u001b[0m b")).toEqual([
      { text: "a " },
      { text: "red", colour: "red", isBold: true },
      { text: " b" },
    ]);
    expect(piecesOf("\u001b[2Kplain")).toEqual([{ text: "plain" }]);
  });

  it("take the arguments of extended colours for what they are", () => {
    const colours = (codes: string) => piecesOf(`\u001b[${codes}mx`).map(({ colour, isBold }) => [colour, isBold])[0];
    expect(colours("38;5;1")).toEqual(["red", undefined]);
    expect(colours("38;5;12;1")).toEqual(["blue", true]);
    expect(colours("31;38;5;130")).toEqual([undefined, undefined]);
    expect(colours("38;2;1;31;32")).toEqual([undefined, undefined]);
    expect(colours("32;48;2;1;31;0")).toEqual(["green", undefined]);
    expect(colours("48;5;1")).toEqual([undefined, undefined]);
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
