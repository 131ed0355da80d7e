import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Pause, Play, Plus, Zap } from "lucide-react";
import { useMemo, useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { ScheduleBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { CodeBlock } from "@/parts/CodeBlock";
import { Mark, type Tone, word } from "@/parts/Mark";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { type Sortable, useSorted } from "@/parts/sorting";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { brief } from "@/parts/time";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { Attention } from "./Attention";
import { LastRun } from "./LastRun";
import { nextWords } from "./next";
import { Planned } from "./Planned";
import { ScheduleSheet } from "./ScheduleSheet";
import css from "./Schedules.module.css";

const FIRST = `drumline schedules create nightly --cron '30 2 * * *' \\
     --tz Europe/Berlin --task shell --arg shell='echo hello'`;
/** How many of the next fire times a row shows. */
const NEXT = 3;

const COLUMNS: Sortable<ScheduleBody>[] = [
  { name: texts.common.name, by: (schedule) => schedule.name },
  { name: texts.schedules.submits, by: (schedule) => schedule.task?.name ?? schedule.job?.name ?? null },
  { name: texts.common.next, by: (schedule) => schedule.next_fire_at },
  { name: texts.common.runs, by: (schedule) => schedule.runs },
  { name: texts.schedules.missed, by: (schedule) => schedule.missed },
  { name: texts.common.state, by: (schedule) => schedule.state },
];

function idOf(schedule: ScheduleBody): string {
  return schedule.id;
}

/** What fires when. */
export function Schedules() {
  const navigate = useNavigate();
  const mayWrite = useMay("schedules:write");
  const { new: isNew } = useSearch({ from: "/schedules" });
  const [isMade, setMaking] = useState(false);
  const isMaking = mayWrite && (isMade || isNew !== undefined);
  const schedules = useInfiniteQuery({
    queryKey: ["schedules"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/schedules", { query: { limit: 100, next: NEXT, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: every(15_000),
  });
  useRefreshOn(ofTypes("drumline.schedule."), [["schedules"]], 2_000);
  const items = useMemo(() => schedules.data?.pages.flatMap((page) => page.items) ?? [], [schedules.data]);
  const { shown, ...sorting } = useSorted(items, COLUMNS, idOf);
  useRemembered("/schedules", shown.map(idOf));
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.common.schedules}>
        {mayWrite && (
          <Button icon={Plus} tone="primary" onClick={() => setMaking(true)}>
            {texts.schedules.newSchedule}
          </Button>
        )}
      </ScreenHead>
      {schedules.data === undefined ? (
        <Unloaded of={schedules} />
      ) : items.length === 0 ? (
        <Empty title={texts.schedules.noSchedulesYet}>
          <p>{texts.schedules.aScheduleSubmitsATask}</p>
          <CodeBlock code={FIRST} what={texts.overview.command} />
        </Empty>
      ) : (
        <>
          <Panel flush label={texts.common.schedules}>
            <Table
              sorting={{ columns: COLUMNS, ...sorting }}
              head={[
                texts.common.name,
                texts.schedules.submits,
                texts.common.fires,
                texts.common.next,
                texts.schedules.lastRun,
                texts.common.runs,
                texts.schedules.missed,
                texts.common.state,
                "",
              ]}
            >
              {shown.map((schedule) => (
                <Row key={schedule.id} schedule={schedule} mayWrite={mayWrite} />
              ))}
            </Table>
          </Panel>
          <div className={css.pair}>
            <Attention schedules={items} />
            <Planned />
          </div>
        </>
      )}
      {schedules.hasNextPage && (
        <p>
          <Button busy={schedules.isFetchingNextPage} onClick={() => void schedules.fetchNextPage()}>
            {texts.common.more}
          </Button>
        </p>
      )}
      {isMaking && (
        <ScheduleSheet
          onClose={() => {
            setMaking(false);
            if (isNew !== undefined) void navigate({ to: "/schedules", replace: true });
          }}
          onSaved={(schedule) => void navigate({ to: "/schedules/$id", params: { id: schedule.id } })}
        />
      )}
    </div>
  );
}

function Row({ schedule, mayWrite }: { schedule: ScheduleBody; mayWrite: boolean }) {
  const acts = useScheduleActs(schedule);
  return (
    <tr>
      <th scope="row">
        <Link to="/schedules/$id" params={{ id: schedule.id }}>
          {schedule.name}
        </Link>
      </th>
      <td className={css.submits}>
        <Submits schedule={schedule} />
      </td>
      <td className={css.words}>{schedule.words}</td>
      <td>
        <Time at={schedule.next_fire_at} as={() => nextWords(schedule)} />
        <Later schedule={schedule} />
      </td>
      <td>
        <LastRun of={schedule.last_run} />
      </td>
      <td>{schedule.runs.toLocaleString("en")}</td>
      <td>{schedule.missed.toLocaleString("en")}</td>
      <td>
        <ScheduleState of={schedule} />
      </td>
      <td>
        {mayWrite && (
          <span className={css.acts}>
            {schedule.state === "paused" ? (
              <Button icon={Play} busy={acts.resume.isPending} onClick={() => acts.resume.mutate()}>
                {texts.common.resume}
              </Button>
            ) : (
              <Button
                icon={Pause}
                disabled={schedule.state === "finished"}
                busy={acts.pause.isPending}
                onClick={() => acts.pause.mutate()}
              >
                {texts.common.pause}
              </Button>
            )}
            <Button icon={Zap} busy={acts.trigger.isPending} onClick={() => acts.trigger.mutate()}>
              {texts.common.runNow}
            </Button>
          </span>
        )}
      </td>
    </tr>
  );
}

/** The task or the job that each run is, with the page of its type. */
function Submits({ schedule: { task, job } }: { schedule: ScheduleBody }) {
  if (!task) return texts.schedule.theJob(job?.name ?? "–");
  return (
    <Link to="/types/$name" params={{ name: task.name }}>
      {task.name}
    </Link>
  );
}

/** The fire times after the next one. */
function Later({ schedule: { next_fires } }: { schedule: ScheduleBody }) {
  const { zone } = usePreferences();
  const later = next_fires?.slice(1) ?? [];
  if (later.length === 0) return null;
  return <small className={css.later}>{later.map(({ utc }) => brief(utc, zone)).join(" · ")}</small>;
}

const TONES: Record<string, Tone> = { active: "good", paused: "warn", finished: "none" };

export function ScheduleState({ of: { state, reason } }: { of: ScheduleBody }) {
  return (
    <Mark tone={TONES[state] ?? "none"}>
      {word(state)}
      {reason && `: ${reason}`}
    </Mark>
  );
}

/** Pause, resume, run now. */
export function useScheduleActs(schedule: ScheduleBody) {
  const { id, name } = schedule;
  const changes = [["schedules"], ["schedule", id]];
  const pause = useAct(() => call("POST /api/v1/schedules/{id}/pause", { params: { id } }), {
    done: () => texts.common.isPaused(name),
    changes,
  });
  const resume = useAct(() => call("POST /api/v1/schedules/{id}/resume", { params: { id } }), {
    done: () => texts.common.isResumed(name),
    changes,
  });
  const trigger = useAct(() => call("POST /api/v1/schedules/{id}/trigger", { params: { id } }), {
    done: () => texts.common.runsNow(name),
    changes,
  });
  return { pause, resume, trigger };
}
