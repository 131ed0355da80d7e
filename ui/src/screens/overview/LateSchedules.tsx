import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { Mark } from "@/parts/Mark";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { nextWords } from "@/screens/schedules/next";
import { texts } from "@/texts";
import css from "./Overview.module.css";
import { urgent } from "./urgent";

/** Schedules that are late, then those that fire next. */
export function LateSchedules() {
  const schedules = useQuery({
    queryKey: ["schedules", "first"],
    queryFn: ({ signal }) => call("GET /api/v1/schedules", { query: { limit: 100 }, signal }),
    refetchInterval: every(10_000),
  });
  const found = urgent(schedules.data?.items ?? []);
  const late = found.filter((one) => one.isLate).length;
  return (
    <Panel
      title={late > 0 ? texts.overview.schedulesLateLate(late) : texts.common.schedules}
      aside={<Link to="/schedules">{texts.overview.allSchedules}</Link>}
      flush
    >
      {schedules.data === undefined ? (
        <Unloaded of={schedules} rows={3} />
      ) : found.length === 0 ? (
        <p className={css.none}>{texts.overview.noSchedules}</p>
      ) : (
        <Table head={[texts.common.schedule, texts.common.fires, texts.overview.lastRun, texts.common.state]}>
          {found.map(({ schedule, isLate }) => (
            <tr key={schedule.id}>
              <th scope="row">
                <Link to="/schedules/$id" params={{ id: schedule.id }}>
                  {schedule.name}
                </Link>
              </th>
              <td>
                <Time at={schedule.next_fire_at} as={() => nextWords(schedule)} />
              </td>
              <td>{schedule.last_run?.status ? <Status of={schedule.last_run.status} small /> : "–"}</td>
              <td>
                {isLate ? (
                  <Mark tone="bad">{texts.overview.late}</Mark>
                ) : schedule.missed > 0 ? (
                  <Mark tone="warn">{texts.overview.missed(schedule.missed)}</Mark>
                ) : (
                  <Mark tone="good">{texts.overview.onTime}</Mark>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
