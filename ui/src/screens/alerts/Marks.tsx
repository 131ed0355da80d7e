import type { AlertBody, Severity } from "@/api/types";
import { Mark, word } from "@/parts/Mark";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import { SEVERITIES, STATES } from "./values";

/** Where an alert stands. */
export function AlertState({ alert }: { alert: AlertBody }) {
  if (!alert.enabled) return <Mark tone="none">{texts.alerts.paused}</Mark>;
  return (
    <>
      <Mark tone={STATES[alert.state]}>{alert.state === "ok" ? texts.alerts.ok : word(alert.state)}</Mark>
      {alert.muted_until && (
        <small>
          {texts.alerts.mutedUntil}
          <Time at={alert.muted_until} />
        </small>
      )}
    </>
  );
}

export function SeverityMark({ of }: { of: Severity }) {
  return <Mark tone={SEVERITIES[of]}>{word(of)}</Mark>;
}
