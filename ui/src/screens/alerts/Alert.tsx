import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Pause, Pencil, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { about, every, useRefreshOn } from "@/api/queries";
import type { AlertBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { alertSnippets } from "@/parts/snippets";
import { TaskTable } from "@/parts/TaskTable";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { texts } from "@/texts";
import { AlertSheet } from "./AlertSheet";
import css from "./Alerts.module.css";
import { useAlertActs } from "./acts";
import { History } from "./History";
import { AlertState, SeverityMark } from "./Marks";
import { MuteButton } from "./MuteButton";
import { ValueChart } from "./ValueChart";
import { MEASURES, shownValue, typedValue } from "./values";

/** One alert: its condition, where it stands, and when it fired. */
export function Alert() {
  const { id } = useParams({ from: "/alerts/$id" });
  const alert = useQuery({
    queryKey: ["alerts", "one", id],
    queryFn: ({ signal }) => call("GET /api/v1/alerts/{id}", { params: { id }, signal }),
    refetchInterval: every(15_000),
  });
  useRefreshOn(about(id), [["alerts"]], 2_000);
  if (alert.data === undefined) return <Unloaded of={alert} />;
  const found = alert.data;
  return (
    <div className={css.screen}>
      <Head alert={found} />
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(found)} />
      </Panel>
      <ValueChart alert={found} />
      {found.measure === "failure_rate" && (
        <TaskTable
          title={texts.type.recentFailures}
          query={{
            status: "FAILED",
            ...(found.task ? { name: found.task } : {}),
            ...(found.queue ? { queue: found.queue } : {}),
          }}
          none={texts.type.noFailures}
          limit={5}
        />
      )}
      <History alert={id} show={(value) => shownValue(found.measure, value)} />
    </div>
  );
}

function Head({ alert }: { alert: AlertBody }) {
  const navigate = useNavigate();
  const mayWrite = useMay("alerts:write");
  const acts = useAlertActs(alert, () => void navigate({ to: "/alerts" }));
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  return (
    <ScreenHead title={alert.name}>
      {mayWrite && (
        <>
          <MuteButton alert={alert} isPage />
          <Button
            icon={alert.enabled ? Pause : Play}
            busy={acts.change.isPending}
            onClick={() => acts.change.mutate({ enabled: !alert.enabled })}
          >
            {alert.enabled ? texts.common.pause : texts.common.resume}
          </Button>
          <Button icon={Pencil} onClick={() => setOpen("edit")}>
            {texts.common.edit}
          </Button>
          <Button icon={Trash2} tone="danger" onClick={() => setOpen("delete")}>
            {texts.common.delete}
          </Button>
        </>
      )}
      <CopyAs
        title={texts.common.createName(alert.name)}
        of={() => alertSnippets(serverUrl(), alert, typedValue(alert.measure, alert.threshold))}
      />
      {open === "edit" && <AlertSheet of={alert} onClose={() => setOpen(null)} />}
      {open === "delete" && (
        <Confirm
          title={texts.common.deleteName(alert.name)}
          act="Delete"
          busy={acts.remove.isPending}
          error={acts.remove.error}
          onAct={() => acts.remove.mutate()}
          onClose={() => setOpen(null)}
        >
          {texts.alerts.itsHistoryIsDeletedWith}
        </Confirm>
      )}
    </ScreenHead>
  );
}

function factsOf(alert: AlertBody): Fact[] {
  const facts: Fact[] = [
    [texts.common.state, <AlertState key="state" alert={alert} />],
    [texts.alerts.since, <Time key="since" at={alert.since} />],
    [texts.common.value, shownValue(alert.measure, alert.value)],
    [texts.alerts.firesAbove, shownValue(alert.measure, alert.threshold)],
    [texts.alerts.measure, MEASURES[alert.measure].label],
  ];
  if (alert.window !== null) facts.push([texts.alerts.window, span(alert.window)]);
  facts.push(
    [texts.alerts.for, alert.for === 0 ? texts.alerts.atOnce : span(alert.for)],
    [texts.alerts.severity, <SeverityMark key="severity" of={alert.severity} />],
  );
  if (alert.task)
    facts.push([
      texts.common.task,
      <Link key="task" to="/types/$name" params={{ name: alert.task }}>
        {alert.task}
      </Link>,
    ]);
  if (alert.queue)
    facts.push([
      texts.common.queue,
      <Link key="queue" to="/queues/$name" params={{ name: alert.queue }}>
        {alert.queue}
      </Link>,
    ]);
  if (alert.schedule) facts.push([texts.common.schedule, alert.schedule]);
  if (alert.least > 1) facts.push([texts.alerts.atLeast, texts.alerts.tasks(alert.least)]);
  facts.push([
    texts.alerts.evaluated,
    alert.evaluated_at ? <Time key="at" at={alert.evaluated_at} /> : texts.alerts.notYet,
  ]);
  facts.push([texts.alerts.condition, alert.summary, "wide"]);
  if (alert.note) facts.push([texts.alerts.note, <span key="note" className={css.note}>{alert.note}</span>, "wide"]); // biome-ignore format: short
  return facts;
}
