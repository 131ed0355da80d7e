import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Calendar } from "@/screens/schedule/Calendar";
import { texts } from "@/texts";
import { OFTEN, plannedByDay } from "./planned";
import css from "./Schedules.module.css";

/** Five weeks of the calendar. */
const DAYS = 35;

/** How many runs all schedules have on each of the next days. */
export function Planned() {
  const plan = useQuery({
    queryKey: ["schedules", "plan"],
    queryFn: ({ signal }) =>
      call("GET /api/v1/schedules", { query: { state: "active", limit: 100, days: DAYS }, signal }),
    refetchInterval: every(60_000),
  });
  const { days, left } = plannedByDay(plan.data?.items ?? []);
  return (
    <Panel title={plan.data?.next_cursor ? texts.schedules.plannedOfTheNewest : texts.schedule.plannedRunsByDay}>
      {plan.data === undefined ? (
        <Unloaded of={plan} rows={5} />
      ) : (
        <>
          <Calendar days={days} />
          {left > 0 && <p className={css.left}>{texts.schedules.withoutFrequent(left, OFTEN)}</p>}
        </>
      )}
    </Panel>
  );
}
