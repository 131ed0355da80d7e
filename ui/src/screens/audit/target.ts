import type { AuditBody } from "@/api/types";
import { isId } from "@/parts/ids";
import { texts } from "@/texts";

/** What an entry of the audit log is about: what it is, what people call it, and where its page is. */
export interface Target {
  kind: string;
  name: string;
  to: string | null;
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
const LISTS = new Set(["queues", "keys", "secrets", "subscriptions", "limits", "shards", "workers", "slos"]);
const PLACES: Record<string, string> = { subscriptions: "/notifications", limits: "/queues", slos: "/alerts" };
const NAMES = ["name", "queue", "makes", "id"];

/** Read what an entry is about from the address that was called, and from what it changed. */
export function targetOf(row: Pick<AuditBody, "target" | "before" | "after">): Target {
  const [kind = "", id] = row.target
    .replace(/^\/api\/v\d+\//, "")
    .split("/")
    .map(decoded);
  const made = wordOf(row.after, ["id"]);
  const key = id ?? made;
  const name = wordOf(row.after, NAMES) ?? wordOf(row.before, NAMES) ?? key ?? "";
  const named = id && !isId(id) ? id : name;
  const to =
    PAGES.has(kind) && key && isId(key) ? `/${kind}/${key}` : LISTS.has(kind) ? (PLACES[kind] ?? `/${kind}`) : null;
  return { kind: KINDS[kind] ?? kind.replaceAll("_", " ").replaceAll("-", " "), name: named, to };
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
