import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import { HowTo } from "@/parts/HowTo";
import { Mark, word } from "@/parts/Mark";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Bulk.module.css";
import { BulkProgress } from "./BulkProgress";

const EXAMPLE = `drumline tasks retry --filter 'status:failed queue:search' --rate 50 --dry-run
drumline tasks retry --filter 'status:failed queue:search' --rate 50 --reason "the cluster is back"`;

/** Acts on many tasks at once: running and past. */
export function Bulks() {
  const bulks = useQuery({
    queryKey: ["bulk"],
    queryFn: ({ signal }) => call("GET /api/v1/bulk", { query: { limit: 100 }, signal }),
    refetchInterval: every(3_000),
  });
  useRefreshOn(ofTypes("drumline.bulk."), [["bulk"]]);
  useRemembered("/bulk", bulks.data?.items.flatMap((bulk) => bulk.id ?? []) ?? []);
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.bulk.bulkOperations} />
      {bulks.data === undefined ? (
        <Unloaded of={bulks} />
      ) : bulks.data.items.length === 0 ? (
        <Empty title={texts.bulk.noBulkOperationsYet}>
          <p>{texts.bulk.retryOrDiscardAGroup}</p>
        </Empty>
      ) : (
        <Panel flush label={texts.bulk.bulkOperations}>
          <Table
            head={[
              texts.bulk.action,
              texts.common.state,
              texts.common.progress,
              texts.common.created,
              texts.common.reason,
            ]}
          >
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
      <HowTo title={texts.bulk.howToStart} words={texts.bulk.howToStartWords} code={EXAMPLE} />
    </div>
  );
}
