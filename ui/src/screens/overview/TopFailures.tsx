import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Overview.module.css";

const MOST = 6;

/** The causes that most of what failed has in common. */
export function TopFailures() {
  const groups = useQuery({
    queryKey: ["failures", "groups", "top"],
    queryFn: ({ signal }) =>
      call("GET /api/v1/failures/groups", { query: { sort: "count", state: "active", limit: MOST }, signal }),
    refetchInterval: every(10_000),
  });
  return (
    <Panel title={texts.overview.topFailures} aside={<Link to="/failures">{texts.overview.allFailures}</Link>} flush>
      {groups.data === undefined ? (
        <Unloaded of={groups} rows={3} />
      ) : groups.data.items.length === 0 ? (
        <p className={css.none}>{texts.overview.noFailures}</p>
      ) : (
        <ul className={css.failures}>
          {groups.data.items.map((group) => (
            <li key={group.fingerprint}>
              <Link to="/failures/$fingerprint" params={{ fingerprint: group.fingerprint }}>
                <strong>{group.count.toLocaleString("en")}</strong>
                <span className={css.kind}>{group.kind}</span>
                <span className={css.message}>{group.message}</span>
                <span className={css.when}>
                  <Time at={group.last_at} as="relative" />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
