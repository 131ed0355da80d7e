import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pencil, Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { AlertBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { word } from "@/parts/Mark";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { type Sortable, useSorted } from "@/parts/sorting";
import { Table } from "@/parts/Table";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import { AlertSheet } from "./AlertSheet";
import css from "./Alerts.module.css";
import { History } from "./History";
import { AlertState, SeverityMark } from "./Marks";
import { MuteButton } from "./MuteButton";
import { Objectives } from "./Objectives";
import { shownValue } from "./values";

const MOST = 200;

const COLUMNS: Sortable<AlertBody>[] = [
  { name: texts.common.name, by: (alert) => alert.name },
  { name: texts.common.state, by: (alert) => alert.state },
  { name: texts.alerts.severity, by: (alert) => alert.severity },
];
const NONE: AlertBody[] = [];

function idOf(alert: AlertBody): string {
  return alert.id;
}

/** What fires now, the rules, the objectives, and when rules fired. */
export function Alerts() {
  const mayWrite = useMay("alerts:write");
  const [isMaking, setMaking] = useState(false);
  const alerts = useQuery({
    queryKey: ["alerts", "list"],
    queryFn: ({ signal }) => call("GET /api/v1/alerts", { query: { limit: MOST }, signal }),
    refetchInterval: every(15_000),
  });
  useRefreshOn(ofTypes("drumline.alert."), [["alerts"]], 2_000);
  const { shown, ...sorting } = useSorted(alerts.data?.items ?? NONE, COLUMNS, idOf);
  useRemembered("/alerts", shown.map(idOf));
  const firing = alerts.data?.items.filter((alert) => alert.state === "firing") ?? [];
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.alerts.alerts}>
        {mayWrite && (
          <Button icon={Plus} tone="primary" onClick={() => setMaking(true)}>
            {texts.alerts.newAlert}
          </Button>
        )}
      </ScreenHead>
      {alerts.data !== undefined && alerts.data.items.length > 0 && (
        <Panel title={texts.alerts.firingNow} flush>
          {firing.length === 0 ? (
            <p className={css.calm}>{texts.alerts.nothingFires}</p>
          ) : (
            <ul className={css.firing}>
              {firing.map((alert) => (
                <Firing key={alert.id} alert={alert} mayWrite={mayWrite} />
              ))}
            </ul>
          )}
        </Panel>
      )}
      <Panel title={texts.alerts.rules} flush>
        {alerts.data === undefined ? (
          <Unloaded of={alerts} rows={3} />
        ) : alerts.data.items.length === 0 ? (
          <Empty title={texts.alerts.noAlertsYet}>
            <p>
              <TextWith
                text={texts.alerts.anAlertFires}
                values={{
                  subscription: <Link to="/notifications">{texts.alerts.aSubscription}</Link>,
                  events: <code>alert.*</code>,
                }}
              />
            </p>
          </Empty>
        ) : (
          <Table
            sorting={{ columns: COLUMNS, ...sorting }}
            head={[
              texts.common.name,
              texts.alerts.firesWhen,
              texts.common.value,
              texts.common.state,
              texts.alerts.severity,
              "",
            ]}
          >
            {shown.map((alert) => (
              <Rule key={alert.id} alert={alert} mayWrite={mayWrite} />
            ))}
          </Table>
        )}
      </Panel>
      <Objectives />
      <History />
      {isMaking && <AlertSheet onClose={() => setMaking(false)} />}
    </div>
  );
}

function Firing({ alert, mayWrite }: { alert: AlertBody; mayWrite: boolean }) {
  return (
    <li data-severity={alert.severity}>
      <div>
        <Link to="/alerts/$id" params={{ id: alert.id }}>
          {alert.name}
        </Link>
        <p>{alert.summary}</p>
        {alert.note && <p className={css.note}>{alert.note}</p>}
      </div>
      <strong>{shownValue(alert.measure, alert.value)}</strong>
      <span className={css.since}>
        <SeverityMark of={alert.severity} />
        <small>
          <TextWith text={texts.alerts.sinceTime} values={{ time: <Time at={alert.since} /> }} />
        </small>
      </span>
      {mayWrite && <MuteButton alert={alert} />}
    </li>
  );
}

function Rule({ alert, mayWrite }: { alert: AlertBody; mayWrite: boolean }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <tr>
      <th scope="row" className={css.name}>
        <Link to="/alerts/$id" params={{ id: alert.id }}>
          {alert.name}
        </Link>
      </th>
      <td className={css.summary}>{alert.summary}</td>
      <td>{shownValue(alert.measure, alert.value)}</td>
      <td>
        <AlertState alert={alert} />
      </td>
      <td>{word(alert.severity)}</td>
      <td>
        {mayWrite && (
          <span className={css.acts}>
            <MuteButton alert={alert} />
            <Button icon={Pencil} onClick={() => setEditing(true)}>
              {texts.common.edit}
            </Button>
          </span>
        )}
        {isEditing && <AlertSheet of={alert} onClose={() => setEditing(false)} />}
      </td>
    </tr>
  );
}
