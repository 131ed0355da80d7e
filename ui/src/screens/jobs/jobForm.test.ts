import { describe, expect, it } from "vitest";
import { decode, encode } from "@/api/numbers";
import { Problem } from "@/api/problem";
import type { JobBody, TaskBody } from "@/api/types";
import { documentOf, draftLike, fieldOf, type TaskRow, tasksOf } from "./jobForm";

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

  it("is filled in with another job: what it needs, its options, and large numbers whole", () => {
    const backoff = { base: 2, factor: 2, cap: 3600, jitter: 0 };
    const job = { name: "month", owner: "ada", retries: 3, backoff, tags: ["etl"] } as unknown as JobBody;
    const common = { queue: "etl", priority: 0, retries: 3, backoff, timeout: null, tags: [], limit_key: null };
    const read = { ...common, id: "1", payload: { n: decode("9007199254740993") } };
    const tell = { ...common, id: "2", payload: null, retries: 0, queue: "mail", timeout: 5, tags: ["vip"] };
    const node = (key: string, given: object) => ({ key, name: "work", run_if: "all_succeeded", needs: [], ...given });
    const nodes = [
      node("read", { task_id: "1" }),
      node("tell", { task_id: "2", needs: ["read"], run_if: "any_failed" }),
    ] as unknown as Parameters<typeof draftLike>[1];

    const draft = draftLike(job, nodes, [tell, read] as unknown as TaskBody[]);

    const wanted =
      '{"read":{"name":"work","payload":{"n":9007199254740993},"queue":"etl"},' +
      '"tell":{"name":"work","needs":["read"],"payload":null,"run_if":"any_failed","queue":"mail","retries":0,' +
      '"timeout":5,"tags":["vip"]}}';
    const document = JSON.parse(documentOf(draft.name, draft.rows, draft.options));
    expect(draft.options).toEqual({ owner: "ada", retries: 3, backoff, tags: ["etl"] });
    expect(encode(tasksOf(draft.rows)).replaceAll(/\s/g, "")).toBe(wanted);
    expect(document).toMatchObject({ name: "month", owner: "ada", tasks: { tell: { needs: ["read"], retries: 0 } } });
  });

  it("keeps needs whose keys cannot be written as a list", () => {
    const job = { name: "month", owner: null, retries: 3, tags: [] } as unknown as JobBody;
    const nodes = [
      { key: "a, b", name: "work", run_if: "all_succeeded", needs: [], task_id: "1" },
      { key: "c", name: "work", run_if: "all_succeeded", needs: ["a, b"], task_id: "2" },
    ] as unknown as Parameters<typeof draftLike>[1];

    const { rows } = draftLike(job, nodes, []);

    expect(rows.map((row) => row.needs)).toEqual(["", ""]);
    expect(tasksOf(rows)).toMatchObject({ "a, b": { name: "work" }, c: { needs: ["a, b"] } });
  });
});
