import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { History, Pause, Pencil, Play, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { about, every, useRefreshOn } from "@/api/queries";
import type { RunBody, ScheduleBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Empty, sentence, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { Fires } from "@/screens/schedules/Fires";
import { ScheduleSheet } from "@/screens/schedules/ScheduleSheet";
import { ScheduleState, useScheduleActs } from "@/screens/schedules/Schedules";
import { BackfillSheet } from "./BackfillSheet";
import { Calendar } from "./Calendar";
import css from "./Schedule.module.css";

/** One schedule: its rule in words, its next fires, its runs. */
export function Schedule() {
  const { id } = useParams({ from: "/schedules/$id" });
  const schedule = useQuery({
    queryKey: ["schedule", id],
    queryFn: ({ signal }) => call("GET /api/v1/schedules/{id}", { params: { id }, query: { next: 100 }, signal }),
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
      <Panel label="Facts">
        <Facts of={factsOf(found)} />
      </Panel>
      <div className={css.two}>
        <Panel title="Next">
          <Fires of={(found.next_fires ?? []).slice(0, 8)} zone={found.timezone} isPaused={found.state === "paused"} />
        </Panel>
        <Panel title="Planned">
          <Calendar fires={found.next_fires ?? []} />
        </Panel>
      </div>
      <Panel title="Runs" flush>
        {runs.data === undefined ? (
          <Unloaded of={runs} rows={3} />
        ) : runs.data.items.length === 0 ? (
          <Empty title="No runs yet" />
        ) : (
          <Table head={["Fire time", "Status", "Kind", "Made", "Why"]}>
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
          <Link to="/tasks/$id" params={{ id: run.task_id }}>
            task
          </Link>
        ) : run.job_id ? (
          <Link to="/jobs/$id" params={{ id: run.job_id }}>
            job
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
  const [open, setOpen] = useState<"edit" | "backfill" | "delete" | null>(null);
  const remove = useAct(() => call("DELETE /api/v1/schedules/{id}", { params: { id: schedule.id } }), {
    done: () => `${schedule.name} is deleted; its runs stay`,
    changes: [["schedules"]],
    afterwards: () => void navigate({ to: "/schedules" }),
    inDialog: true,
  });
  return (
    <ScreenHead title={schedule.name}>
      {mayWrite && (
        <>
          <Button icon={Zap} tone="primary" busy={acts.trigger.isPending} onClick={() => acts.trigger.mutate()}>
            Run now
          </Button>
          {schedule.state === "paused" ? (
            <Button icon={Play} onClick={() => acts.resume.mutate()}>
              Resume
            </Button>
          ) : (
            <Button icon={Pause} disabled={schedule.state === "finished"} onClick={() => acts.pause.mutate()}>
              Pause
            </Button>
          )}
          <Button icon={Pencil} onClick={() => setOpen("edit")}>
            Edit
          </Button>
          <Button icon={History} onClick={() => setOpen("backfill")}>
            Backfill
          </Button>
          <Button icon={Trash2} tone="danger" onClick={() => setOpen("delete")}>
            Delete
          </Button>
        </>
      )}
      {open === "edit" && <ScheduleSheet of={schedule} onClose={() => setOpen(null)} onSaved={() => undefined} />}
      {open === "backfill" && <BackfillSheet schedule={schedule} onClose={() => setOpen(null)} />}
      {open === "delete" && (
        <Confirm
          title={`Delete ${schedule.name}?`}
          act="Delete"
          busy={remove.isPending}
          error={remove.error}
          onAct={() => remove.mutate()}
          onClose={() => {
            remove.reset();
            setOpen(null);
          }}
        >
          It fires no more. What it has started goes on.
        </Confirm>
      )}
    </ScreenHead>
  );
}

const OVERLAPS: Record<string, string> = {
  allow: "run in parallel",
  skip: "skipped",
  queue: "wait for the last",
  cancel_previous: "cancel the last",
};
const MISFIRES: Record<string, string> = { skip: "skipped", once: "run once", all: "run each" };

function factsOf(schedule: ScheduleBody): Fact[] {
  const facts: Fact[] = [
    ["Fires", sentence(schedule.words)],
    ["State", <ScheduleState key="state" of={schedule} />],
    ["Submits", schedule.job ? `the job ${schedule.job.name}` : (schedule.task?.name ?? "–")],
    ["Fired", schedule.runs.toLocaleString("en")],
    ["Skipped", schedule.skipped.toLocaleString("en")],
    ["Missed", schedule.missed.toLocaleString("en")],
    ["Overlapping runs", OVERLAPS[schedule.overlap] ?? schedule.overlap],
    ["Missed runs", MISFIRES[schedule.misfire] ?? schedule.misfire],
  ];
  if (schedule.cron) facts.push(["Cron", <code key="cron">{schedule.cron}</code>]);
  if (schedule.jitter > 0) facts.push(["Jitter", span(schedule.jitter)]);
  if (schedule.start) facts.push(["From", <Time key="start" at={schedule.start} />]);
  if (schedule.end) facts.push(["Until", <Time key="end" at={schedule.end} />]);
  return facts;
}
