import { describe, expect, it } from "vitest";
import type { LogLineBody } from "@/api/types";
import { byTask, marked } from "./found";

function line(task: string, number: number, attempt = 1): LogLineBody {
  return {
    task_id: task,
    name: `name of ${task}`,
    queue: "default",
    status: "FAILED",
    attempt,
    line: number,
    at: null,
    level: null,
    text: "x",
    is_cut: false,
  };
}

describe("lines that were found", () => {
  it("are grouped by their tasks in the order in which they came", () => {
    const groups = byTask([line("b", 1), line("b", 7, 2), line("a", 3)]);

    expect(groups.map(({ id, isOfSeveral, lines }) => [id, isOfSeveral, lines.map((one) => one.line)])).toEqual([
      ["b", true, [1, 7]],
      ["a", false, [3]],
    ]);
  });

  it("have every place marked that has the text, in capitals or not", () => {
    expect(marked("An ERROR is an error", "error")).toEqual([
      { text: "An ", isFound: false },
      { text: "ERROR", isFound: true },
      { text: " is an ", isFound: false },
      { text: "error", isFound: true },
    ]);
    expect(marked("aaa", "aa").map((piece) => piece.text)).toEqual(["aa", "a"]);
    expect(marked("a.c", ".")).toHaveLength(3);
  });

  it("stay whole where nothing can be marked", () => {
    expect(marked("İstanbul", "i")).toEqual([{ text: "İstanbul", isFound: false }]);
    expect(marked("line", "")).toEqual([{ text: "line", isFound: false }]);
  });
});
