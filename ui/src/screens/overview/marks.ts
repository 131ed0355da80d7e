import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { AuditBody, WorkerBody } from "@/api/types";
import type { Mark } from "@/parts/Chart";
import { targetOf } from "@/screens/audit/target";
import { texts } from "@/texts";

const MOST = 50;
const PAUSES = { "queue.pause": "paused", "queue.resume": "resumed" } as const;

/** What the charts are about: some queues, or all; a type, or all. */
export interface Subject {
  queues?: readonly string[];
  type?: string;
}

/** What charts are marked with: deploys of applications and of Drumline, and queues that were paused or resumed. */
export function useMarks(of: Subject): Mark[] {
  const [mayAudit, mayWorkers] = [useMay("audit:read"), useMay("workers:read")];
  const acts = useQuery({
    enabled: mayAudit,
    queryKey: ["marks", "audit"],
    queryFn: async ({ signal }) => {
      const found = Object.keys(PAUSES).map((act) =>
        call("GET /api/v1/audit", { query: { act, limit: MOST }, signal }),
      );
      return (await Promise.all(found)).flatMap((page) => page.items);
    },
    refetchInterval: every(30_000),
  });
  const workers = useQuery({
    enabled: mayWorkers,
    queryKey: ["workers", "all"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { query: { closed: true }, signal }),
    refetchInterval: every(30_000),
  });
  return marksOf(acts.data ?? [], workers.data?.items ?? [], of);
}

/** The marks in the order of their times. */
export function marksOf(acts: readonly AuditBody[], workers: readonly WorkerBody[], of: Subject): Mark[] {
  const own = workers.filter((worker) => of.type === undefined || worker.types.includes(of.type));
  return [...pausesOf(acts, of.queues ?? []), ...deploysOf(own)].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** Pauses of some queues; of all if none is named. */
function pausesOf(acts: readonly AuditBody[], queues: readonly string[]): Mark[] {
  const marks: Mark[] = [];
  for (const row of acts) {
    const words = PAUSES[row.act as keyof typeof PAUSES];
    const { name } = targetOf(row);
    if (!words || row.phase !== "done" || (queues.length > 0 && !queues.includes(name))) continue;
    const text = texts.overview.didBy(`${name} ${words}`, row.key_name, row.reason);
    marks.push({ at: row.at, kind: words, text });
  }
  return marks;
}

/** When the first worker of each version of an application, and of Drumline, came; not of the oldest known of each. */
function deploysOf(workers: readonly WorkerBody[]): Mark[] {
  const firsts = new Map<string, Map<string, string>>();
  for (const worker of workers) {
    for (const [of, text] of versionsOf(worker)) {
      const first = firsts.get(of) ?? new Map<string, string>();
      const known = first.get(text);
      if (!known || Date.parse(worker.opened_at) < Date.parse(known)) first.set(text, worker.opened_at);
      firsts.set(of, first);
    }
  }
  return [...firsts.values()].flatMap((first) =>
    [...first]
      .sort(([, one], [, other]) => Date.parse(one) - Date.parse(other))
      .slice(1)
      .map(([text, at]) => ({ at, kind: "deployed", text })),
  );
}

/** The versions that a worker tells of, each after what it is of; the first word of an application's is its name. */
function versionsOf({ version, app_version }: WorkerBody): [of: string, text: string][] {
  const versions: [string, string][] = version ? [["drumline", texts.overview.versionDeployed(version)]] : [];
  for (const app of app_version.split(", ").filter(Boolean)) {
    versions.push([app.slice(0, app.indexOf(" ") + 1), texts.overview.appDeployed(app)]);
  }
  return versions;
}
