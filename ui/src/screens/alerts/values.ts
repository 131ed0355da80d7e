import type { AlertBody, AlertMeasure, PointBody, Severity, SloBody } from "@/api/types";
import type { Tone } from "@/parts/Mark";
import { span } from "@/parts/time";
import { texts } from "@/texts";

export const MEASURES: Record<AlertMeasure, { label: string; unit: string; example: string }> = {
  failure_rate: { label: texts.alerts.failureRate, unit: texts.alerts.aShareSuchAs5, example: "5%" },
  wait_p95: { label: texts.alerts.waitingTimeP95, unit: texts.alerts.aDurationSuchAs30s, example: "30s" },
  run_p95: { label: texts.alerts.runTimeP95, unit: texts.alerts.aDurationSuchAs30s, example: "30s" },
  backlog: { label: texts.alerts.backlog, unit: texts.alerts.aNumberOfTasks, example: "1000" },
  oldest_wait: { label: texts.alerts.oldestWaitingTask, unit: texts.alerts.aDurationSuchAs2m, example: "2m" },
  late_schedule: { label: texts.alerts.lateSchedule, unit: texts.alerts.aDurationSuchAs5m, example: "5m" },
  burn_rate: { label: texts.alerts.burnRate, unit: texts.alerts.timesFasterThanAllowed, example: "14.4" },
};

export const STATES: Record<AlertBody["state"], Tone> = {
  firing: "bad",
  pending: "warn",
  resolved: "good",
  ok: "good",
};

export const SEVERITIES: Record<Severity, Tone> = { critical: "bad", warning: "warn", info: "none" };

const IN_SECONDS: readonly AlertMeasure[] = ["wait_p95", "run_p95", "oldest_wait", "late_schedule"];

/** A value of a measure, as people read it. */
export function shownValue(measure: AlertMeasure, value: number | null): string {
  if (value === null) return "–";
  if (measure === "failure_rate") return percent(value);
  if (measure === "burn_rate") return burn(value);
  return IN_SECONDS.includes(measure) ? span(value) : Math.round(value).toLocaleString("en");
}

/** What was typed for a threshold, from the number that the server keeps. */
export function typedValue(measure: AlertMeasure, value: number): string {
  if (measure === "failure_rate") return `${Number((value * 100).toFixed(4))}%`;
  return IN_SECONDS.includes(measure) ? `${value}s` : String(value);
}

export function percent(share: number): string {
  const value = share * 100;
  return `${Number(value.toFixed(Math.abs(value) < 10 || Math.abs(value) > 99 ? 2 : 1))} %`;
}

export function burn(rate: number | null): string {
  return rate === null ? "–" : `${Number(rate.toPrecision(3))}×`;
}

/** An objective in words. */
export function objectiveOf(slo: SloBody): string {
  const [target, days] = [percent(slo.target), slo.period / 86_400];
  return slo.objective === "success"
    ? texts.alerts.succeedOver(target, days)
    : texts.alerts.startWithinOver(target, span(slo.within ?? 0), days);
}

/** How much of the budget was left at each point of the period, and how fast it was spent there. */
export function burnedOf(slo: SloBody): { times: string[]; left: number[]; burn: (number | null)[] } {
  const points = slo.points ?? [];
  const allowed = slo.total * (1 - slo.target);
  let bad = 0;
  const left = points.map((point) => {
    bad += point.total - point.good;
    return allowed > 0 ? 1 - bad / allowed : 1;
  });
  return {
    times: points.map((point) => point.at),
    left,
    burn: points.map((point) =>
      point.total === 0 ? null : (point.total - point.good) / point.total / (1 - slo.target),
    ),
  };
}

const POINT_VALUES: Partial<Record<AlertMeasure, (point: PointBody) => number | null>> = {
  failure_rate: ({ failed, completed }) => (failed + completed > 0 ? failed / (failed + completed) : null),
  wait_p95: (point) => point.wait_p95,
  run_p95: (point) => point.run_p95,
  backlog: (point) => point.depth,
};

/** The values of a measure over time; null for what the statistics do not have. */
export function chartedOf(measure: AlertMeasure, points: readonly PointBody[]): (number | null)[] | null {
  const read = POINT_VALUES[measure];
  return read ? points.map(read) : null;
}

/** The shortest range of the charts that shows several windows of an alert. */
export function rangeOf(window: number | null): "1h" | "6h" | "24h" | "7d" {
  const seconds = window ?? 0;
  if (seconds <= 900) return "1h";
  if (seconds <= 7_200) return "6h";
  return seconds <= 21_600 ? "24h" : "7d";
}
