import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import type { AuditBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { JsonTree } from "@/parts/JsonTree";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Empty, Loading, sentence, Trouble } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import css from "./Audit.module.css";

/** Who did what, from where, and why. */
export function Audit() {
  const [shown, setShown] = useState<AuditBody | null>(null);
  const audit = useInfiniteQuery({
    queryKey: ["audit"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => call("GET /api/v1/audit", { query: { limit: 100, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const verify = useMutation({
    mutationFn: () => call("GET /api/v1/audit/verify", {}),
    onSuccess: (answer) =>
      answer.is_sound
        ? say("Every row is as it was written, and none is missing")
        : say("The log was changed: see drumline audit verify", "problem"),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
  });
  const items = audit.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <ScreenHead title="Audit">
        <Button icon={ShieldCheck} busy={verify.isPending} onClick={() => verify.mutate()}>
          Verify
        </Button>
      </ScreenHead>
      {audit.isPending ? (
        <Loading />
      ) : audit.isError ? (
        <Trouble error={audit.error} onRetry={() => void audit.refetch()} />
      ) : items.length === 0 ? (
        <Empty title="Nobody has done anything yet">
          <p>Cancelling, retrying, pausing, making keys: whatever changes something is written down here.</p>
        </Empty>
      ) : (
        <Panel flush label="Audit log">
          <Table head={["When", "Who", "What", "To what", "How", "Why"]}>
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
                  <code className={css.target}>{row.target.replace(/^\/api\/v1/, "")}</code>
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
            More
          </Button>
        </p>
      )}
      {shown && (
        <Sheet title={shown.act} onClose={() => setShown(null)}>
          <Facts
            of={[
              ["Who", shown.key_name],
              ["From", shown.address],
              ["When", <Time key="when" at={shown.at} />],
              ["Request", <code key="request">{shown.request_id}</code>],
            ]}
          />
          <JsonTree name="before" value={shown.before} />
          <JsonTree name="after" value={shown.after} />
        </Sheet>
      )}
    </>
  );
}
