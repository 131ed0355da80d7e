import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Time, Took } from "@/parts/Time";
import { workerName } from "@/parts/worker";
import { texts } from "@/texts";

const MOST = 50;

/** Workers that left lately. */
export function PastWorkers() {
  const workers = useQuery({
    queryKey: ["workers", "all"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { query: { closed: true }, signal }),
    refetchInterval: every(30_000),
  });
  const past = (workers.data?.items ?? [])
    .filter((worker) => worker.closed_at !== null)
    .sort((one, other) => Date.parse(other.closed_at ?? "") - Date.parse(one.closed_at ?? ""))
    .slice(0, MOST);
  if (past.length === 0) return null;
  return (
    <Panel title={texts.worker.leftLately} flush>
      <Table
        head={[texts.common.worker, texts.worker.left, texts.worker.ranFor, texts.worker.version, texts.worker.host]}
      >
        {past.map((worker) => (
          <tr key={worker.id}>
            <th scope="row">
              <Link to="/workers/$id" params={{ id: worker.id }}>
                {workerName(worker)}
              </Link>
            </th>
            <td>
              <Time at={worker.closed_at} as="relative" />
            </td>
            <td>
              <Took from={worker.opened_at} to={worker.closed_at} />
            </td>
            <td>{worker.version}</td>
            <td>{worker.host || "–"}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
