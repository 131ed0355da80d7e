import { Link } from "@tanstack/react-router";
import type { ScheduleBody } from "@/api/types";
import { Mark, type Tone } from "@/parts/Mark";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { useTick } from "@/parts/Time";
import { texts } from "@/texts";
import { LastRun } from "./LastRun";
import { isLate, nextWords } from "./next";
import css from "./Schedules.module.css";

const MOST = 10;

/** Why somebody should look at a schedule, the worst first; nothing if all is well. */
function problemOf(schedule: ScheduleBody): [Tone, string] | null {
  const isActive = schedule.state === "active";
  if (isActive && schedule.next_fire_at && isLate(schedule)) return ["bad", nextWords(schedule)];
  if (schedule.last_run?.status === "FAILED") return ["bad", texts.schedules.lastRunFailed];
  if (schedule.waiting > 0) return ["warn", texts.schedules.runsWaiting(schedule.waiting)];
  if (schedule.state === "paused") return ["warn", schedule.reason ?? texts.schedules.paused];
  return null;
}

/** Schedules that are late, failed, have runs that wait, or are paused. */
export function Attention({ schedules }: { schedules: ScheduleBody[] }) {
  useTick(true);
  const found = schedules.flatMap((schedule) => {
    const problem = problemOf(schedule);
    return problem ? [{ schedule, tone: problem[0], words: problem[1] }] : [];
  });
  const shown = found.sort((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad")).slice(0, MOST);
  return (
    <Panel title={texts.schedules.attention} flush>
      {shown.length === 0 ? (
        <p className={css.none}>{texts.schedules.allRunOnTime}</p>
      ) : (
        <Table head={[texts.common.schedule, texts.schedules.problem, texts.schedules.lastRun]}>
          {shown.map(({ schedule, tone, words }) => (
            <tr key={schedule.id}>
              <th scope="row">
                <Link to="/schedules/$id" params={{ id: schedule.id }}>
                  {schedule.name}
                </Link>
              </th>
              <td>
                <Mark tone={tone}>{words}</Mark>
              </td>
              <td>
                <LastRun of={schedule.last_run} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
