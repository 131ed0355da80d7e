import { describe, expect, it } from "vitest";
import { BigNumber } from "@/api/numbers";
import {
  alertSnippets,
  curl,
  jobSnippets,
  readSnippets,
  scheduleSnippets,
  shellWord,
  subscriptionSnippets,
  taskSnippets,
} from "./snippets";

const TASK = {
  name: "send mail",
  queue: "mail",
  payload: { to: "o'neil@example.org", id: new BigNumber("12345678901234567890") },
  priority: 5,
  retries: 3,
  timeout: null,
  tags: ["vip"],
  limit_key: null,
  backoff: { base: 2, factor: 2, cap: 3600, jitter: 0 },
  notify: [],
};

describe("snippets", () => {
  it("quotes what a shell would read otherwise", () => {
    expect(shellWord("plain-word.1")).toBe("plain-word.1");
    expect(shellWord("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(shellWord("")).toBe("''");
  });

  it("writes a task for the command line, curl and Python without rounding numbers", () => {
    const [cli, http, python] = taskSnippets("http://x", TASK).map((snippet) => snippet.text);

    expect(cli).toBe(
      `drumline submit 'send mail' --payload '{"to":"o'\\''neil@example.org","id":12345678901234567890}' ` +
        "--queue mail --retries 3 --backoff 2 --priority 5 --tag vip",
    );
    expect(http).toContain("12345678901234567890");
    expect(http).toContain('-H "X-API-Key: $DRUMLINE_API_KEY"');
    expect(python).toContain(`json.loads("{\\"to\\":\\"o'neil@example.org\\",\\"id\\":12345678901234567890}")`);
    expect(python).toContain('tags=["vip"],');
  });

  it("repeats the backoff and the notifications of a task", () => {
    const ada = { on: ["completed", "failed"], webhook: null, email: "ada@example.org" };
    const hook = { on: ["cancelled"], webhook: "https://example.org/x", email: null };
    const [cli] = taskSnippets("http://x", { ...TASK, notify: [ada] }).map(({ text }) => text);
    const backoff = { ...TASK.backoff, factor: 1 };
    const other = taskSnippets("http://x", { ...TASK, backoff, notify: [ada, hook] });

    expect(cli).toContain("--backoff 2 --priority 5 --tag vip --notify ada@example.org");
    expect(other.map(({ id }) => id)).toEqual(["curl", "python"]);
    expect(other[0]?.text).toContain('"backoff":{"base":2,"factor":1,"cap":3600,"jitter":0}');
    expect(other[0]?.text).toContain('{"on":["cancelled"],"webhook":"https://example.org/x"}');
    expect(other[1]?.text).toContain('NotifyTarget(webhook="https://example.org/x", on=("cancelled",))');
  });

  it("has no body where there is none", () => {
    expect(curl("http://x", "GET", "/a")).toBe('curl -X GET http://x/a -H "X-API-Key: $DRUMLINE_API_KEY"');
    expect(jobSnippets("http://x", "7")[0]?.text).toBe("drumline jobs get 7");
  });

  it("writes the rule of a schedule that it has", () => {
    const schedule = {
      name: "n",
      cron: null,
      interval: 60,
      run_at: null,
      timezone: "UTC",
      task: { name: "t" },
      job: null,
      misfire: "once",
      overlap: "skip",
    };
    const [cli, http] = scheduleSnippets("http://x", schedule).map((snippet) => snippet.text);
    expect(cli).toBe("drumline schedules create n --every 60s --task t --misfire once --overlap skip");
    expect(http).toContain(`'{"name":"n","interval":60,"task":{"name":"t"},"misfire":"once","overlap":"skip"}'`);
    const odd = { ...schedule, task: { name: "t", retries: 2 } };
    expect(scheduleSnippets("http://x", odd).map(({ id }) => id)).toEqual(["curl", "python"]);
  });

  it("reads a queue whose name has to be escaped", () => {
    const [cli, http, python] = readSnippets("http://x", "queue", "a b").map((snippet) => snippet.text);

    expect(cli).toBe("drumline queues get 'a b'");
    expect(http).toContain("http://x/api/v1/queues/a%20b");
    expect(python).toContain('    "http://x/api/v1/queues/a%20b",\n    {"X-API-Key"');
    expect(readSnippets("http://x", "failures", "e67").map(({ text }) => text)[0]).toBe("drumline failures show e67");
    expect(readSnippets("http://x", "failures", "e67")[1]?.text).toContain("http://x/api/v1/failures/groups/e67");
  });

  it("creates an alert with what it has only", () => {
    const alert = {
      name: "too slow",
      measure: "wait_p95",
      threshold: 30,
      window: 300,
      for: 0,
      least: 1,
      severity: "warning",
      task: null,
      queue: "mail",
      schedule: null,
      slo: null,
      note: null,
    };
    const [cli, http] = alertSnippets("http://x", alert, "30s").map((snippet) => snippet.text);

    expect(cli).toBe(
      "drumline alerts create 'too slow' --on wait_p95 --above 30s --window 300s --severity warning --queue mail",
    );
    expect(http).toContain(
      `'{"name":"too slow","measure":"wait_p95","threshold":30,"severity":"warning","window":300,"queue":"mail"}'`,
    );
  });

  it("creates a subscription with its events and filters", () => {
    const subscription = {
      name: "ops",
      events: ["task.failed", "job.*"],
      task: null,
      queue: "mail",
      job: null,
      tag: null,
      webhook: "https://x.example/hook",
      email: null,
    };
    const [cli, , python] = subscriptionSnippets("http://x", subscription).map((snippet) => snippet.text);

    expect(cli).toBe(
      "drumline subscriptions create ops --on task.failed --on 'job.*' --webhook https://x.example/hook --queue mail",
    );
    expect(python).toContain('\\"events\\":[\\"task.failed\\",\\"job.*\\"]');
    expect(python).toContain('method="POST"');
  });
});
