import type { AuditBody } from "@/api/types";
import { isId } from "@/parts/ids";
import { texts } from "@/texts";

/** What an entry of the audit log is about: what it is, what people call it, and where its page is. */
export interface Target {
  kind: string;
  name: string;
  to: string | null;
  /** What the address names, where it is that of a page. */
  params?: Record<string, string>;
}

const KINDS: Record<string, string> = {
  tasks: "task",
  jobs: "job",
  schedules: "schedule",
  queues: "queue",
  workers: "worker",
  keys: "key",
  secrets: "secret",
  subscriptions: "subscription",
  limits: "limit",
  alerts: "alert",
  slos: "objective",
  failures: "failures",
  bulk: texts.audit.bulkOperation,
  shards: "shard",
  config: "setting",
  users: "user",
  sessions: "session",
  artifacts: "artifact",
};
const PAGES = new Set(["tasks", "jobs", "schedules", "bulk", "alerts"]);
/** Pages whose addresses are names, or ids that are no UUIDs. */
const NAMED_PAGES: Record<string, string> = { queues: "name", workers: "id" };
const LISTS = new Set(["keys", "secrets", "subscriptions", "limits", "shards", "slos", "tenants"]);
const PLACES: Record<string, string> = { subscriptions: "/notifications", limits: "/queues", slos: "/alerts" };
const NAMES = ["name", "queue", "makes", "id"];

/** Read what an entry is about from the address that was called, and from what it changed. */
export function targetOf(row: Pick<AuditBody, "target" | "before" | "after">): Target {
  const [kind = "", ...rest] = row.target
    .replace(/^\/api\/v\d+\//, "")
    .split("/")
    .map(decoded);
  const isGroup = kind === "failures" && rest[0] === "groups";
  const id = isGroup ? rest[1] : rest[0];
  const made = wordOf(row.after, ["id"]);
  const key = id ?? made;
  const name = wordOf(row.after, NAMES) ?? wordOf(row.before, NAMES) ?? key ?? "";
  const named = id && !isId(id) ? id : name;
  const words = KINDS[kind] ?? kind.replaceAll("_", " ").replaceAll("-", " ");
  return { kind: words, name: named, ...pageOf(isGroup ? "groups" : kind, key) };
}

function pageOf(kind: string, key: string | null | undefined): Pick<Target, "to" | "params"> {
  if (key && kind === "groups") return { to: "/failures/$fingerprint", params: { fingerprint: key } };
  const param = NAMED_PAGES[kind];
  if (key && param) return { to: `/${kind}/$${param}`, params: { [param]: key } };
  if (key && PAGES.has(kind) && isId(key)) return { to: `/${kind}/$id`, params: { id: key } };
  return { to: LISTS.has(kind) ? (PLACES[kind] ?? `/${kind}`) : null };
}

function wordOf(value: unknown, fields: string[]): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const field of fields) {
    const found = (value as Record<string, unknown>)[field];
    if (typeof found === "string" && found) return found;
  }
  return null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
