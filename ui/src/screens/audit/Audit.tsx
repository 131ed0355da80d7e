import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { ShieldCheck, X } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import type { AuditBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { JsonTree } from "@/parts/JsonTree";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Empty, Unloaded } from "@/parts/States";
import { sentence } from "@/parts/sentence";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import css from "./Audit.module.css";
import { AuditTarget } from "./AuditTarget";

/** Who did what, from where, and why. */
export function Audit() {
  const [shown, setShown] = useState<AuditBody | null>(null);
  const search = useSearch({ from: "/audit" });
  const audit = useInfiniteQuery({
    queryKey: ["audit", search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/audit", { query: { ...search, limit: 100, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const verify = useMutation({
    mutationFn: () => call("GET /api/v1/audit/verify", {}),
    onSuccess: (answer) =>
      answer.is_sound
        ? say(texts.audit.verifiedNoEntryWasChanged)
        : say(texts.audit.verificationFailedRunDrumlineAudit, "problem"),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
  });
  const items = audit.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <ScreenHead title={texts.audit.audit}>
        <Button icon={ShieldCheck} busy={verify.isPending} onClick={() => verify.mutate()}>
          {texts.audit.verify}
        </Button>
      </ScreenHead>
      <Filters search={search} />
      {audit.data === undefined ? (
        <Unloaded of={audit} />
      ) : items.length === 0 ? (
        <Empty title={Object.keys(search).length > 0 ? texts.audit.noMatches : texts.audit.noEntriesYet}>
          <p>{texts.audit.everyChangeIsRecordedHere}</p>
        </Empty>
      ) : (
        <Panel flush label={texts.audit.auditLog}>
          <Table
            head={[
              texts.audit.time,
              texts.audit.actor,
              texts.audit.action,
              texts.audit.target,
              texts.audit.phase,
              texts.common.reason,
            ]}
          >
            {items.map((row) => (
              <tr key={row.id}>
                <td>
                  <Time at={row.at} />
                </td>
                <td>
                  {row.key_name} <span className={css.address}>{row.address}</span>
                </td>
                <th scope="row">
                  <button type="button" className={css.open} onClick={() => setShown(row)}>
                    {row.act}
                  </button>
                </th>
                <td>
                  <AuditTarget row={row} />
                </td>
                <td>{row.phase}</td>
                <td className={css.why}>{row.reason ?? row.problem ?? ""}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {audit.hasNextPage && (
        <p className={css.more}>
          <Button busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
            {texts.common.more}
          </Button>
        </p>
      )}
      {shown && (
        <Sheet title={shown.act} onClose={() => setShown(null)}>
          <Facts
            of={[
              [texts.audit.actor, shown.key_name],
              [texts.common.from, shown.address],
              [texts.audit.time, <Time key="when" at={shown.at} />],
              [texts.audit.target, <AuditTarget key="target" row={shown} />],
              [texts.audit.path, <code key="path">{shown.target}</code>, "wide"],
              [texts.audit.request, <code key="request">{shown.request_id}</code>],
            ]}
          />
          <p className={css.like}>
            <Link to="/audit" search={{ act: shown.act }} onClick={() => setShown(null)}>
              {texts.audit.allEntriesWithThisAction}
            </Link>
            <Link to="/audit" search={{ key: shown.key }} onClick={() => setShown(null)}>
              {texts.audit.allEntriesBy(shown.key_name)}
            </Link>
          </p>
          <JsonTree name="before" value={shown.before} />
          <JsonTree name="after" value={shown.after} />
        </Sheet>
      )}
    </>
  );
}

type Search = { act?: string; key?: string; target?: string };
const NAMES: Record<keyof Search, string> = { act: "action", key: "actor", target: "target" };

/** What the log is narrowed by, each with a way out. */
function Filters({ search }: { search: Search }) {
  const fields = (Object.keys(NAMES) as (keyof Search)[]).filter((field) => search[field]);
  if (fields.length === 0) return null;
  return (
    <ul className={css.filters} aria-label={texts.common.filters}>
      {fields.map((field) => {
        const { [field]: value, ...rest } = search;
        return (
          <li key={field}>
            {NAMES[field]}: <strong>{value}</strong>
            <Link
              to="/audit"
              search={rest}
              aria-label={texts.audit.removeFilterField(NAMES[field])}
              title={texts.common.remove}
            >
              <X size={13} aria-hidden="true" />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
