import { call } from "@/api/client";
import type { AlertBody, AlertPatch } from "@/api/types";
import { useAct } from "@/parts/act";
import { texts } from "@/texts";

const CHANGES = [["alerts"]];

/** What can be done about an alert. */
export function useAlertActs(alert: AlertBody, onGone?: () => void) {
  const params = { id: alert.id };
  return {
    change: useAct((body: AlertPatch) => call("PATCH /api/v1/alerts/{id}", { params, body }), {
      done: (answer, body) => wordsFor(answer, "enabled" in body),
      changes: CHANGES,
    }),
    remove: useAct(() => call("DELETE /api/v1/alerts/{id}", { params }), {
      done: () => texts.common.isDeleted(alert.name),
      // Not the alert itself: it is gone.
      changes: [
        ["alerts", "list"],
        ["alerts", "count"],
        ["alerts", "incidents"],
      ],
      inDialog: true,
      ...(onGone && { afterwards: onGone }),
    }),
  };
}

function wordsFor(alert: AlertBody, isPause: boolean): string {
  if (isPause) return alert.enabled ? texts.common.isResumed(alert.name) : texts.common.isPaused(alert.name);
  return alert.muted_until ? texts.alerts.isMuted(alert.name) : texts.alerts.isUnmuted(alert.name);
}
