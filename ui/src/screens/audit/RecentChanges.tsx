import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { AuditBody } from "@/api/types";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Audit.module.css";
import { AuditTarget } from "./AuditTarget";

const MOST = 7;

/** The latest entries of the audit log with some actions, on the page of what they change. */
export function RecentChanges({ of, acts }: { of: string; acts: readonly string[] }) {
  const mayRead = useMay("audit:read");
  const changes = useQuery({
    enabled: mayRead,
    queryKey: [of, "changes", acts], // an act that changes the list of these changes this, too
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        acts.map((act) => call("GET /api/v1/audit", { query: { act, limit: MOST }, signal })),
      );
      return latest(pages.flatMap((page) => page.items));
    },
    refetchInterval: every(30_000),
  });
  if (!mayRead) return null;
  return (
    <Panel title={texts.audit.recentChanges} flush aside={<Link to="/audit">{texts.audit.audit}</Link>}>
      {changes.data === undefined ? (
        <Unloaded of={changes} rows={3} />
      ) : changes.data.length === 0 ? (
        <p className={css.none}>{texts.audit.noChangesYet}</p>
      ) : (
        <ul className={css.changes}>
          {changes.data.map((row) => (
            <li key={row.id}>
              <span>
                <strong>{row.act}</strong> <AuditTarget row={row} />
                {row.reason && <span className={css.said}>{row.reason}</span>}
              </span>
              <span className={css.by}>
                {row.key_name}, <Time at={row.at} as="relative" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** The newest of several lists, each of which has its newest first. */
function latest(rows: AuditBody[]): AuditBody[] {
  return [...rows].sort((a, b) => b.at.localeCompare(a.at) || b.id.localeCompare(a.id)).slice(0, MOST);
}
