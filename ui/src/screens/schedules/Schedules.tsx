import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Pause, Play, Plus, Zap } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { ScheduleBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { nextWords } from "./next";
import { ScheduleSheet } from "./ScheduleSheet";
import css from "./Schedules.module.css";

/** What fires when. */
export function Schedules() {
  const navigate = useNavigate();
  const mayWrite = useMay("schedules:write");
  const [isMaking, setMaking] = useState(false);
  const schedules = useInfiniteQuery({
    queryKey: ["schedules"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/schedules", { query: { limit: 100, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: every(15_000),
  });
  useRefreshOn(ofTypes("drumline.schedule."), [["schedules"]], 2_000);
  const items = schedules.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <ScreenHead title="Schedules">
        {mayWrite && (
          <Button icon={Plus} onClick={() => setMaking(true)}>
            New schedule
          </Button>
        )}
      </ScreenHead>
      {schedules.data === undefined ? (
        <Unloaded of={schedules} />
      ) : items.length === 0 ? (
        <Empty title="No schedules yet">
          <p>A schedule submits a task or a job at fire times, each exactly once.</p>
        </Empty>
      ) : (
        <Panel flush label="Schedules">
          <Table head={["Name", "Fires", "Next", "Last run", "Runs", "State", ""]}>
            {items.map((schedule) => (
              <Row key={schedule.id} schedule={schedule} mayWrite={mayWrite} />
            ))}
          </Table>
        </Panel>
      )}
      {schedules.hasNextPage && (
        <p className={css.more}>
          <Button busy={schedules.isFetchingNextPage} onClick={() => void schedules.fetchNextPage()}>
            More
          </Button>
        </p>
      )}
      {isMaking && (
        <ScheduleSheet
          onClose={() => setMaking(false)}
          onSaved={(schedule) => void navigate({ to: "/schedules/$id", params: { id: schedule.id } })}
        />
      )}
    </>
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
      <td className={css.words}>{schedule.words}</td>
      <td>
        <Time at={schedule.next_fire_at} as={() => nextWords(schedule)} />
      </td>
      <td>{schedule.last_run?.status ? <Status of={schedule.last_run.status} small /> : "–"}</td>
      <td>{schedule.runs.toLocaleString("en")}</td>
      <td>
        <ScheduleState of={schedule} />
      </td>
      <td>
        {mayWrite && (
          <span className={css.acts}>
            {schedule.state === "paused" ? (
              <Button icon={Play} busy={acts.resume.isPending} onClick={() => acts.resume.mutate()}>
                Resume
              </Button>
            ) : (
              <Button
                icon={Pause}
                disabled={schedule.state === "finished"}
                busy={acts.pause.isPending}
                onClick={() => acts.pause.mutate()}
              >
                Pause
              </Button>
            )}
            <Button icon={Zap} busy={acts.trigger.isPending} onClick={() => acts.trigger.mutate()}>
              Run now
            </Button>
          </span>
        )}
      </td>
    </tr>
  );
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
    done: () => `${name} is paused`,
    changes,
  });
  const resume = useAct(() => call("POST /api/v1/schedules/{id}/resume", { params: { id } }), {
    done: () => `${name} is resumed`,
    changes,
  });
  const trigger = useAct(() => call("POST /api/v1/schedules/{id}/trigger", { params: { id } }), {
    done: () => `${name} runs now`,
    changes,
  });
  return { pause, resume, trigger };
}
