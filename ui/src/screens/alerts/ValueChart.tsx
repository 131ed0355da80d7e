import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { AlertBody, AlertMeasure } from "@/api/types";
import { Chart, niceTime } from "@/parts/Chart";
import { useStats } from "@/screens/overview/Charts";
import { texts } from "@/texts";
import { burnedOf, chartedOf, MEASURES, rangeOf, shownValue } from "./values";

const TIMES: readonly AlertMeasure[] = ["wait_p95", "run_p95"];

/** The top of an axis of shares: what is not much is drawn large. */
function share(highest: number): number {
  return [0.1, 0.2, 0.5].find((top) => highest <= top) ?? 1;
}

/** What an alert measures, over time, and where it fires; nothing for measures that are not kept. */
export function ValueChart({ alert }: { alert: AlertBody }) {
  if (alert.measure === "burn_rate") return alert.slo && <BurnChart alert={alert} slo={alert.slo} />;
  return chartedOf(alert.measure, []) && <StatsChart alert={alert} />;
}

function StatsChart({ alert }: { alert: AlertBody }) {
  const stats = useStats(rangeOf(alert.window), alert.queue ?? undefined, true, alert.task ?? undefined);
  const points = stats.data?.points ?? [];
  const values = chartedOf(alert.measure, points) ?? [];
  return <Drawn alert={alert} times={points.map((point) => point.at)} values={values} />;
}

function BurnChart({ alert, slo }: { alert: AlertBody; slo: string }) {
  const found = useQuery({
    queryKey: ["slos", "one", slo],
    queryFn: ({ signal }) => call("GET /api/v1/slos/{id}", { params: { id: slo }, signal }),
    refetchInterval: every(60_000),
  });
  if (found.data === undefined) return null;
  const { times, burn } = burnedOf(found.data);
  return <Drawn alert={alert} times={times} values={burn} />;
}

function Drawn({ alert, times, values }: { alert: AlertBody; times: string[]; values: (number | null)[] }) {
  if (times.length === 0) return null;
  return (
    <Chart
      title={texts.alerts.overTime(MEASURES[alert.measure].label)}
      times={times}
      lines={[
        { name: texts.alerts.valueWord, tone: "queued", values },
        { name: texts.alerts.firesAboveThis, tone: "failed", values: times.map(() => alert.threshold), isLimit: true },
      ]}
      format={(value) => shownValue(alert.measure, value)}
      {...(TIMES.includes(alert.measure)
        ? { topOf: niceTime }
        : alert.measure === "failure_rate"
          ? { topOf: share }
          : {})}
    />
  );
}
