import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import { Mark, word } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { BulkProgress } from "./BulkProgress";

/** Acts on many tasks at once: running and past. */
export function Bulks() {
  const bulks = useQuery({
    queryKey: ["bulk"],
    queryFn: ({ signal }) => call("GET /api/v1/bulk", { query: { limit: 100 }, signal }),
    refetchInterval: every(3_000),
  });
  useRefreshOn(ofTypes("drumline.bulk."), [["bulk"]]);
  return (
    <>
      <ScreenHead title="Bulk operations" />
      {bulks.data === undefined ? (
        <Unloaded of={bulks} />
      ) : bulks.data.items.length === 0 ? (
        <Empty title="No bulk operations yet">
          <p>Retrying or discarding a group of failures makes one.</p>
        </Empty>
      ) : (
        <Panel flush label="Bulk operations">
          <Table head={["Act", "State", "Progress", "Created", "Reason"]}>
            {bulks.data.items.map((bulk) => (
              <tr key={bulk.id}>
                <th scope="row">
                  <Link to="/bulk/$id" params={{ id: bulk.id ?? "" }}>
                    {word(bulk.act)}
                  </Link>
                </th>
                <td>
                  <Mark tone={bulk.state === "completed" ? "good" : bulk.state === "running" ? "busy" : "warn"}>
                    {word(bulk.state ?? "")}
                  </Mark>
                </td>
                <td>
                  <BulkProgress bulk={bulk} />
                </td>
                <td>
                  <Time at={bulk.created_at} as="relative" />
                </td>
                <td>{bulk.reason ?? ""}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
    </>
  );
}
