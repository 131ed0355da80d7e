import { describe, expect, it } from "vitest";
import {
  keySnippets,
  limitSnippets,
  searchSnippets,
  sloSnippets,
  tenantSnippets,
  typeSnippets,
} from "./createSnippets";
import type { Snippet } from "./snippets";

const URL = "http://x";
const texts = (snippets: Snippet[]) => snippets.map(({ text }) => text);

describe("what is created with a command", () => {
  it("is a limit with what it has only", () => {
    const limit = { name: "slow mail", queue: "mail", task: null, max_concurrent: 2, rate: null, key: "limit_key" };
    const [cli, http] = texts(limitSnippets(URL, limit));
    expect(cli).toBe("drumline limits set 'slow mail' --queue mail --max-concurrent 2 --by limit_key");
    expect(http).toContain("-X PUT http://x/api/v1/limits/slow%20mail");
    expect(http).toContain(`'{"queue":"mail","max_concurrent":2,"key":"limit_key"}'`);
  });

  it("is a tenant with its quotas, and a key with what it may do", () => {
    const quotas = { queued: 100, payload_bytes: 5, schedules: null, weight: undefined };
    const [tenant] = texts(tenantSnippets(URL, { name: "acme", quotas }));
    expect(tenant).toBe("drumline tenants create acme --queued 100 --payload-bytes 5");

    const key = { name: "ci", role: "submitter", tenant: "acme", scopes: [], names: ["shop.*"], rate_limit: null };
    const [cli, http] = texts(keySnippets(URL, { ...key, queues: ["mail"] }));
    expect(cli).toBe("drumline keys create ci --role submitter --tenant acme --name 'shop.*' --queue mail");
    expect(http).toContain('{"name":"ci","role":"submitter","tenant":"acme","names":["shop.*"],"queues":["mail"]}');
  });

  it("is an objective, and a task of a type", () => {
    const slo = { name: "fast", task: "t", queue: null, objective: "start", within: 0.5, target: 0.99, period: 604800 };
    expect(texts(sloSnippets(URL, slo))[0]).toBe(
      "drumline slos create fast --task t --target 0.99 --start-within 0.5s --period 7d",
    );
    expect(texts(typeSnippets(URL, "a b", { n: 0 }))[0]).toBe(`drumline submit 'a b' --payload '{"n":0}'`);
  });
});

describe("a search that is copied", () => {
  it("is one filter, whose spans are counted back from when it is used", () => {
    const search = { status: "failed", since: "2h", ended: "15m", filter: "-queue:bulk" };
    const [cli, http, python] = texts(searchSnippets(URL, search));
    expect(cli).toBe("drumline tasks list --filter 'status:failed -queue:bulk created>2h ended>15m'");
    expect(http).toContain("filter=status%3Afailed%20-queue%3Abulk%20created%3E2h%20ended%3E15m");
    expect(python).toContain('method="GET"');
    expect(texts(searchSnippets(URL, {}))[0]).toBe("drumline tasks list");
  });
});
