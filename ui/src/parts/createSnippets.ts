import { encode } from "@/api/numbers";
import { type TaskSearch, writeSearch } from "@/search";
import { flags, requestWays, type Snippet } from "./snippets";

/** What has a value, as the fields of a request. */
function given(fields: Record<string, unknown>): Record<string, unknown> {
  const isGiven = (value: unknown) => value !== null && value !== undefined && !(Array.isArray(value) && !value.length);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
}

/** A flag for each value. */
function each(flag: string, values: readonly string[]): string[] {
  return values.flatMap((value) => [flag, value]);
}

/** Ways to submit a task of a type with a payload to change. */
export function typeSnippets(url: string, name: string, payload: unknown): Snippet[] {
  const command = ["drumline", "submit", name, "--payload", encode(payload)];
  return requestWays(command, url, "POST", "/api/v1/tasks", { name, payload });
}

interface LimitLike {
  name: string;
  queue: string | null;
  task: string | null;
  max_concurrent: number | null;
  rate: string | null;
  key: string | null;
}

/** Ways to set a limit like this one. */
export function limitSnippets(url: string, { name, queue, task, max_concurrent, rate, key }: LimitLike): Snippet[] {
  const options = flags({
    "--queue": queue,
    "--task": task,
    "--max-concurrent": max_concurrent,
    "--rate": rate,
    "--by": key,
  });
  const body = given({ queue, task, max_concurrent, rate, key });
  const path = `/api/v1/limits/${encodeURIComponent(name)}`;
  return requestWays(["drumline", "limits", "set", name, ...options], url, "PUT", path, body);
}

interface TenantLike {
  name: string;
  quotas: Record<string, number | null | undefined>;
}

/** Ways to create a tenant like this one. */
export function tenantSnippets(url: string, tenant: TenantLike): Snippet[] {
  const quotas = given(tenant.quotas) as Record<string, number>;
  const options = Object.entries(quotas).map(([quota, amount]) => [`--${quota.replaceAll("_", "-")}`, amount] as const);
  const command = ["drumline", "tenants", "create", tenant.name, ...flags(Object.fromEntries(options))];
  return requestWays(command, url, "POST", "/api/v1/tenants", { name: tenant.name, quotas });
}

interface KeyLike {
  name: string;
  role: string;
  tenant: string;
  scopes: readonly string[];
  names: readonly string[];
  queues: readonly string[];
  rate_limit: string | null;
}

/** Ways to create a key that may do what this one may; the key itself is not known, and its end is left out. */
export function keySnippets(url: string, key: KeyLike): Snippet[] {
  const { name, role, tenant, scopes, names, queues, rate_limit } = key;
  const options = [
    ...flags({ "--role": role, "--tenant": tenant }),
    ...each("--scope", scopes),
    ...each("--name", names),
    ...each("--queue", queues),
    ...flags({ "--rate-limit": rate_limit }),
  ];
  const body = given({ name, role, tenant, scopes, names, queues, rate_limit });
  return requestWays(["drumline", "keys", "create", name, ...options], url, "POST", "/api/v1/keys", body);
}

interface SloLike {
  name: string;
  task: string;
  queue: string | null;
  objective: string;
  within: number | null;
  target: number;
  period: number;
}

const DAY = 86_400;

/** Ways to create an objective like this one, with its two alerts. */
export function sloSnippets(url: string, slo: SloLike): Snippet[] {
  const { name, task, queue, objective, within, target } = slo;
  const period = slo.period % DAY === 0 ? `${slo.period / DAY}d` : `${slo.period}s`;
  const options = flags({
    "--task": task,
    "--target": target,
    "--start-within": within === null ? null : `${within}s`,
    "--period": period,
    "--queue": queue,
  });
  const body = given({ name, task, queue, objective, within, target, period });
  return requestWays(["drumline", "slos", "create", name, ...options], url, "POST", "/api/v1/slos", body);
}

/** A search as terms that mean the same whenever they are used: spans are counted back from then. */
export function termsToCopy({ since, ended, ...search }: TaskSearch): string {
  return [writeSearch(search), since && `created>${since}`, ended && `ended>${ended}`].filter(Boolean).join(" ");
}

/** Ways to list the tasks that a search finds. */
export function searchSnippets(url: string, search: TaskSearch): Snippet[] {
  const terms = termsToCopy(search);
  const path = `/api/v1/tasks${terms ? `?filter=${encodeURIComponent(terms)}` : ""}`;
  const options = terms ? ["--filter", terms] : [];
  return requestWays(["drumline", "tasks", "list", ...options], url, "GET", path);
}
