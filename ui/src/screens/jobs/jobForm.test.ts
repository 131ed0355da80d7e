import { describe, expect, it } from "vitest";
import { encode } from "@/api/numbers";
import { Problem } from "@/api/problem";
import { documentOf, fieldOf, type TaskRow, tasksOf } from "./jobForm";

const row = (id: number, key: string, given: Partial<TaskRow> = {}): TaskRow => ({
  id,
  key,
  name: "work",
  needs: "",
  payload: "{}",
  ...given,
});

function faultsOf(rows: TaskRow[]): Record<string, string> {
  try {
    tasksOf(rows);
    return {};
  } catch (error) {
    return error instanceof Problem ? { ...error.faults } : { unexpected: String(error) };
  }
}

describe("the form of a job", () => {
  it("is sent as it is written, with large numbers whole", () => {
    const tasks = tasksOf([row(1, "a", { payload: '{"n": 9007199254740993}' }), row(2, "b", { needs: "a, a" })]);
    expect(encode(tasks)).toBe(
      '{"a":{"name":"work","payload":{"n": 9007199254740993}},"b":{"name":"work","needs":["a"],"payload":{}}}',
    );
  });

  it("says what is wrong at the field that it is wrong with", () => {
    const faults = faultsOf([row(1, "a", { name: " " }), row(2, "a", { needs: "z" }), row(3, "", { payload: "{" })]);
    expect(Object.keys(faults)).toEqual([
      "rows[0].name",
      "rows[1].key",
      "rows[1].needs",
      "rows[2].key",
      "rows[2].payload",
    ]);
  });

  it("finds the field of what the server refuses, whatever a key is like", () => {
    const rows = [row(1, "load"), row(2, "load.all")];
    expect(fieldOf("tasks.load.needs", rows)).toBe("rows[0].needs");
    expect(fieldOf("tasks.load.all.payload.x", rows)).toBe("rows[1].payload.x");
    expect(fieldOf("tasks.load.all", rows)).toBe("rows[1].key");
    expect(fieldOf("name", rows)).toBe("name");
  });

  it("becomes JSON to go on with", () => {
    expect(JSON.parse(documentOf("report", [row(1, "a"), row(2, "b", { needs: "a", payload: "{" })]))).toEqual({
      name: "report",
      tasks: { a: { name: "work", payload: {} }, b: { name: "work", needs: ["a"], payload: {} } },
    });
  });
});
