import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { CopyPlus, History, Pause, Pencil, Play, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { about, every, useRefreshOn } from "@/api/queries";
import type { RunBody, ScheduleBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { shortened } from "@/parts/ids";
import { word } from "@/parts/Mark";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { scheduleSnippets } from "@/parts/snippets";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { RunsGrid } from "@/screens/runs/RunsGrid";
import { labelOf, MISFIRES, OVERLAPS } from "@/screens/schedules/choices";
import { Fires } from "@/screens/schedules/Fires";
import { ScheduleSheet } from "@/screens/schedules/ScheduleSheet";
import { ScheduleState, useScheduleActs } from "@/screens/schedules/Schedules";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { BackfillSheet } from "./BackfillSheet";
import { Calendar } from "./Calendar";
import css from "./Schedule.module.css";

/** Five weeks of the calendar, from whatever weekday. */
const DAYS = 35;

/** One schedule: its rule in words, its next fires, its runs. */
export function Schedule() {
  const { id } = useParams({ from: "/schedules/$id" });
  const schedule = useQuery({
    queryKey: ["schedule", id],
    queryFn: ({ signal }) =>
      call("GET /api/v1/schedules/{id}", { params: { id }, query: { next: 8, days: DAYS }, signal }),
    refetchInterval: every(15_000),
  });
  const runs = useQuery({
    queryKey: ["schedule", id, "runs"],
    queryFn: ({ signal }) => call("GET /api/v1/schedules/{id}/runs", { params: { id }, query: { limit: 50 }, signal }),
    refetchInterval: every(10_000),
  });
  useRefreshOn(about(id), [["schedule", id]], 2_000);
  if (schedule.data === undefined) return <Unloaded of={schedule} />;
  const found = schedule.data;
  return (
    <div className={css.screen}>
      <Head schedule={found} />
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(found)} />
      </Panel>
      <div className={css.two}>
        <Panel title={texts.common.next}>
          <Fires of={found.next_fires ?? []} zone={found.timezone} isPaused={found.state === "paused"} />
        </Panel>
        <Panel title={texts.schedule.planned}>
          <Calendar days={found.fires_by_day ?? []} />
        </Panel>
      </div>
      {found.job && (
        <Panel title={texts.schedule.last25RunsByTask} flush>
          <RunsGrid of={{ schedule_id: id }} />
        </Panel>
      )}
      <Panel title={texts.common.runs} flush>
        {runs.data === undefined ? (
          <Unloaded of={runs} rows={3} />
        ) : runs.data.items.length === 0 ? (
          <Empty title={texts.schedule.noRunsYet} />
        ) : (
          <Table
            head={[
              texts.schedule.fireTime,
              texts.common.status,
              texts.schedule.kind,
              texts.schedule.submitted,
              texts.common.reason,
            ]}
          >
            {runs.data.items.map((run) => (
              <Run key={`${run.fire_time}${run.kind}`} run={run} />
            ))}
          </Table>
        )}
      </Panel>
    </div>
  );
}

function Run({ run }: { run: RunBody }) {
  return (
    <tr>
      <th scope="row">
        <Time at={run.fire_time} />
      </th>
      <td>{run.status ? <Status of={run.status} small /> : "–"}</td>
      <td>{run.kind}</td>
      <td>
        {run.task_id ? (
          <Link to="/tasks/$id" params={{ id: run.task_id }} title={run.task_id}>
            {texts.schedule.task} {shortened(run.task_id)}
          </Link>
        ) : run.job_id ? (
          <Link to="/jobs/$id" params={{ id: run.job_id }} title={run.job_id}>
            {texts.schedule.job} {shortened(run.job_id)}
          </Link>
        ) : (
          "–"
        )}
      </td>
      <td>{run.reason ?? ""}</td>
    </tr>
  );
}

function Head({ schedule }: { schedule: ScheduleBody }) {
  const navigate = useNavigate();
  const mayWrite = useMay("schedules:write");
  const acts = useScheduleActs(schedule);
  const [open, setOpen] = useState<"edit" | "copy" | "backfill" | "delete" | null>(null);
  const remove = useAct(() => call("DELETE /api/v1/schedules/{id}", { params: { id: schedule.id } }), {
    done: () => texts.schedule.isDeleted(schedule.name),
    changes: [["schedules"]],
    afterwards: () => void navigate({ to: "/schedules" }),
    inDialog: true,
  });
  useShortcut("run", () => mayWrite && acts.trigger.mutate());
  return (
    <ScreenHead title={schedule.name}>
      {mayWrite && (
        <>
          <Button icon={Zap} tone="primary" busy={acts.trigger.isPending} onClick={() => acts.trigger.mutate()}>
            {texts.common.runNow}
          </Button>
          {schedule.state === "paused" ? (
            <Button icon={Play} onClick={() => acts.resume.mutate()}>
              {texts.common.resume}
            </Button>
          ) : (
            <Button icon={Pause} disabled={schedule.state === "finished"} onClick={() => acts.pause.mutate()}>
              {texts.common.pause}
            </Button>
          )}
          <Button icon={CopyPlus} onClick={() => setOpen("copy")}>
            {texts.schedule.duplicate}
          </Button>
          <Button icon={Pencil} onClick={() => setOpen("edit")}>
            {texts.common.edit}
          </Button>
          <Button icon={History} onClick={() => setOpen("backfill")}>
            {texts.schedule.backfill}
          </Button>
          <Button icon={Trash2} tone="danger" onClick={() => setOpen("delete")}>
            {texts.common.delete}
          </Button>
        </>
      )}
      {open === "edit" && <ScheduleSheet of={schedule} onClose={() => setOpen(null)} onSaved={() => undefined} />}
      {open === "backfill" && <BackfillSheet schedule={schedule} onClose={() => setOpen(null)} />}
      {open === "delete" && (
        <Confirm
          title={texts.common.deleteName(schedule.name)}
          act="Delete"
          busy={remove.isPending}
          error={remove.error}
          onAct={() => remove.mutate()}
          onClose={() => {
            remove.reset();
            setOpen(null);
          }}
        >
          {texts.schedule.itWillNotRunAgain}
        </Confirm>
      )}
      <CopyAs title={texts.common.createName(schedule.name)} of={() => scheduleSnippets(serverUrl(), schedule)} />
      {open === "copy" && (
        <ScheduleSheet
          of={schedule}
          isCopy
          onClose={() => setOpen(null)}
          onSaved={(made) => void navigate({ to: "/schedules/$id", params: { id: made.id } })}
        />
      )}
    </ScreenHead>
  );
}

function Submits({ of: { job, task } }: { of: ScheduleBody }) {
  if (job) return texts.schedule.theJob(job.name);
  if (!task) return "–";
  return (
    <Link to="/types/$name" params={{ name: task.name }}>
      {task.name}
    </Link>
  );
}

function factsOf(schedule: ScheduleBody): Fact[] {
  const facts: Fact[] = [
    [texts.common.fires, word(schedule.words)],
    [texts.common.state, <ScheduleState key="state" of={schedule} />],
    [texts.schedule.submits, <Submits key="submits" of={schedule} />],
    [texts.schedule.fired, schedule.runs.toLocaleString("en")],
    [texts.common.skipped, schedule.skipped.toLocaleString("en")],
    [texts.schedule.missed, schedule.missed.toLocaleString("en")],
    [texts.schedule.overlappingRuns, labelOf(OVERLAPS, schedule.overlap)],
    [texts.schedule.missedRuns, labelOf(MISFIRES, schedule.misfire)],
  ];
  if (schedule.cron) facts.push([texts.schedule.cron, <code key="cron">{schedule.cron}</code>]);
  if (schedule.jitter > 0) facts.push([texts.schedule.jitter, span(schedule.jitter)]);
  if (schedule.start) facts.push([texts.common.from, <Time key="start" at={schedule.start} />]);
  if (schedule.end) facts.push([texts.schedule.until, <Time key="end" at={schedule.end} />]);
  return facts;
}
