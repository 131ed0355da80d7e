import { Link } from "@tanstack/react-router";
import type { AuditBody } from "@/api/types";
import { shortened } from "@/parts/ids";
import css from "./Audit.module.css";
import { targetOf } from "./target";

/** What an entry of the audit log is about, with a link to its page. */
export function AuditTarget({ row }: { row: AuditBody }) {
  const { kind, name, to, params } = targetOf(row);
  return (
    <span className={css.target} title={row.target}>
      <span className={css.address}>{kind}</span>{" "}
      {to && name ? (
        <Link to={to as "/queues/$name"} params={params as { name: string }}>
          {shortened(name)}
        </Link>
      ) : (
        shortened(name)
      )}
    </span>
  );
}
