import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { OctagonX } from "lucide-react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import { every } from "@/api/queries";
import type { BulkFilter } from "@/api/types";
import { Button } from "@/parts/Button";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { word } from "@/parts/Mark";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { sentence } from "@/parts/sentence";
import { readSnippets } from "@/parts/snippets";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import css from "./Bulk.module.css";
import { BulkProgress } from "./BulkProgress";

const MOST = 100;

/** One act on many tasks: how far it is, and what went wrong. */
export function Bulk() {
  const { id } = useParams({ from: "/bulk/$id" });
  const client = useQueryClient();
  const mayAct = useMay("tasks:control");
  const bulk = useQuery({
    queryKey: ["bulk", id],
    queryFn: ({ signal }) => call("GET /api/v1/bulk/{id}", { params: { id }, signal }),
    refetchInterval: (query) => every(query.state.data?.state === "running" ? 1_000 : false)(query),
  });
  const hasFailed = (bulk.data?.failed ?? 0) > 0;
  const items = useQuery({
    queryKey: ["bulk", id, "items", hasFailed, bulk.data?.state, bulk.data?.failed],
    queryFn: ({ signal }) =>
      call("GET /api/v1/bulk/{id}/items", {
        params: { id },
        query: { limit: MOST, ...(hasFailed ? { outcome: ["failed"] as const } : {}) },
        signal,
      }),
    enabled: bulk.data !== undefined,
  });
  const abort = useMutation({
    mutationFn: () => call("POST /api/v1/bulk/{id}/abort", { params: { id } }),
    onSuccess: () => say(texts.bulk.abortedCompletedItemsAreNot),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["bulk"] }),
  });
  if (bulk.data === undefined) return <Unloaded of={bulk} />;
  const found = bulk.data;
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.bulk.bulkActState(found.act, found.state ?? "")}>
        {mayAct && found.state === "running" && (
          <Button icon={OctagonX} tone="danger" busy={abort.isPending} onClick={() => abort.mutate()}>
            {texts.bulk.abort}
          </Button>
        )}
        <CopyAs
          title={texts.bulk.bulkActState(found.act, found.state ?? "")}
          of={() => readSnippets(serverUrl(), "bulk", id)}
        />
      </ScreenHead>
      <Panel label={texts.common.facts}>
        <Facts
          of={[
            [texts.common.progress, <BulkProgress key="progress" bulk={found} />],
            [texts.common.done, found.done.toLocaleString("en")],
            [texts.common.skipped, found.skipped.toLocaleString("en")],
            [texts.common.failed, found.failed.toLocaleString("en")],
            [texts.common.rate, found.rate ? texts.bulk.perSecond(found.rate) : texts.bulk.noLimit],
            [texts.common.created, <Time key="asked" at={found.created_at} />],
            [texts.common.finished, <Time key="finished" at={found.finished_at} />],
            [texts.bulk.filter, filterWords(found.filter)],
            [texts.common.reason, found.reason ?? "–"],
          ]}
        />
      </Panel>
      {items.data && items.data.items.length > 0 && (
        <Panel title={titleOf(found.total, hasFailed)} flush>
          <Table head={[texts.common.task, texts.bulk.outcome, texts.bulk.problem]}>
            {items.data.items.map((item) => (
              <tr key={item.id}>
                <th scope="row">
                  <Link to="/tasks/$id" params={{ id: item.id }}>
                    <code>{item.id}</code>
                  </Link>
                </th>
                <td>{item.outcome ? word(item.outcome) : "–"}</td>
                <td className={css.why}>{item.error ?? "–"}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
    </div>
  );
}

function titleOf(total: number, hasFailed: boolean): string {
  if (hasFailed) return texts.bulk.errors;
  return total > MOST ? texts.bulk.firstTasks(MOST) : texts.common.tasks;
}

/** What was chosen, as it was asked for. */
function filterWords(filter: BulkFilter | null): string {
  const terms = Object.entries(filter ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return terms.map(([field, value]) => `${field}: ${String(value)}`).join(", ") || texts.bulk.selection;
}
