import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { OctagonX } from "lucide-react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import { every } from "@/api/queries";
import { Button } from "@/parts/Button";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { sentence, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import css from "./Bulk.module.css";
import { BulkProgress } from "./BulkProgress";

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
  const faults = useQuery({
    queryKey: ["bulk", id, "faults", bulk.data?.failed],
    queryFn: ({ signal }) =>
      call("GET /api/v1/bulk/{id}/items", { params: { id }, query: { outcome: ["failed"], limit: 100 }, signal }),
    enabled: (bulk.data?.failed ?? 0) > 0,
  });
  const abort = useMutation({
    mutationFn: () => call("POST /api/v1/bulk/{id}/abort", { params: { id } }),
    onSuccess: () => say("Aborted: what was done stays done"),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["bulk"] }),
  });
  if (bulk.data === undefined) return <Unloaded of={bulk} />;
  const found = bulk.data;
  return (
    <div className={css.screen}>
      <ScreenHead title={`Bulk ${found.act}: ${found.state ?? ""}`}>
        {mayAct && found.state === "running" && (
          <Button icon={OctagonX} tone="danger" busy={abort.isPending} onClick={() => abort.mutate()}>
            Abort
          </Button>
        )}
      </ScreenHead>
      <Panel label="Facts">
        <Facts
          of={[
            ["Progress", <BulkProgress key="progress" bulk={found} />],
            ["Done", found.done.toLocaleString("en")],
            ["Skipped", found.skipped.toLocaleString("en")],
            ["Failed", found.failed.toLocaleString("en")],
            ["Pace", found.rate ? `${found.rate} per second` : "no limit"],
            ["Created", <Time key="asked" at={found.created_at} />],
            ["Finished", <Time key="finished" at={found.finished_at} />],
            ["Reason", found.reason ?? "–"],
          ]}
        />
      </Panel>
      {faults.data && faults.data.items.length > 0 && (
        <Panel title="What went wrong" flush>
          <Table head={["Task", "Problem"]}>
            {faults.data.items.map((item) => (
              <tr key={item.id}>
                <th scope="row">
                  <Link to="/tasks/$id" params={{ id: item.id }}>
                    <code>{item.id}</code>
                  </Link>
                </th>
                <td>{item.error ?? ""}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
    </div>
  );
}
