import { describe, expect, it } from "vitest";
import { linesFrom, linesOf, linesWith } from "./lines";

describe("the lines of a log", () => {
  const text = Array.from({ length: 11_917 }, (_, place) => `\u001b[31mline\u001b[0m ${place + 1}`).join("\n");

  it("are all there, however many", () => {
    const lines = linesOf(`${text}\n`);
    expect(lines.length).toBe(11_917);
    expect(lines[0]).toMatchObject({ number: 1, text: "line 1" });
    expect(lines.at(-1)).toMatchObject({ number: 11_917, text: "line 11917" });
  });

  it("are found from the first to the last, with their own numbers", () => {
    expect(linesWith(linesOf(text), "LINE 17").map((line) => line.number)[0]).toBe(17);
    expect(linesWith(linesOf(text), "line 11917").map((line) => line.number)).toEqual([11_917]);
    expect(linesWith(linesOf(text), "nowhere")).toEqual([]);
  });

  it("are found by their level, with the traceback that follows", () => {
    const lines = linesOf("INFO app: x\nERROR app: y\nTraceback\nDEBUG app: z");
    expect(linesFrom(lines, "error").map((line) => line.number)).toEqual([2, 3]);
    expect(linesFrom(lines, null).length).toBe(4);
  });

  it("say when they were written, if they do", () => {
    const [said, other, wrong] = linesOf("2026-11-18T22:08:44.396Z INFO app: x\n2026: y\n2026-13-18T22:08:44Z z");
    expect(said).toMatchObject({ at: "2026-11-18T22:08:44.396Z", raw: "INFO app: x", level: "info" });
    expect(said?.text).toBe("2026-11-18T22:08:44.396Z INFO app: x");
    expect(other).toMatchObject({ at: null, raw: "2026: y" });
    expect(wrong).toMatchObject({ at: null, raw: "2026-13-18T22:08:44Z z" });
  });

  it("are none of an empty log", () => {
    expect(linesOf("")).toEqual([]);
  });
});
