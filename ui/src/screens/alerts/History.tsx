import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { IncidentBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Panel } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { between } from "@/parts/time";
import { texts } from "@/texts";
import css from "./Alerts.module.css";
import { SeverityMark } from "./Marks";

/** When alerts fired, the latest first; of one alert, if it is given. */
export function History({ alert, show }: { alert?: string; show?: (value: number) => string }) {
  const incidents = useInfiniteQuery({
    queryKey: ["alerts", "incidents", alert ?? null],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/alert-incidents", { query: { limit: 25, alert, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: every(30_000),
  });
  const items = incidents.data?.pages.flatMap((page) => page.items) ?? [];
  const head = alert
    ? [texts.alerts.fired, texts.alerts.lasted, texts.alerts.peak, texts.alerts.endedBy]
    : [texts.alerts.fired, texts.alerts.alert, texts.alerts.severity, texts.alerts.lasted, texts.alerts.endedBy];
  return (
    <Panel title={texts.alerts.history} flush>
      {incidents.data === undefined ? (
        <Unloaded of={incidents} rows={3} />
      ) : items.length === 0 ? (
        <Empty title={alert ? texts.alerts.hasNotFired : texts.alerts.noAlertHasFired} />
      ) : (
        <Table head={head}>
          {items.map((one) => (
            <tr key={`${one.alert}${one.fired_at}`}>
              <td>
                <Time at={one.fired_at} />
              </td>
              {!alert && (
                <>
                  <th scope="row" className={css.name}>
                    <Link to="/alerts/$id" params={{ id: one.alert }}>
                      {one.name}
                    </Link>
                  </th>
                  <td>
                    <SeverityMark of={one.severity} />
                  </td>
                </>
              )}
              <td>{between(one.fired_at, one.resolved_at)}</td>
              {alert && <td>{show ? show(one.peak) : one.peak}</td>}
              <td>{endOf(one)}</td>
            </tr>
          ))}
        </Table>
      )}
      {incidents.hasNextPage && (
        <p className={css.more}>
          <Button busy={incidents.isFetchingNextPage} onClick={() => void incidents.fetchNextPage()}>
            {texts.common.more}
          </Button>
        </p>
      )}
    </Panel>
  );
}

function endOf(incident: IncidentBody): string {
  if (incident.resolved_at === null) return texts.alerts.stillFiring;
  return incident.reason ?? texts.alerts.itsValue;
}
