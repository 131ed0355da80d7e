import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import { texts } from "@/texts";
import css from "./Rail.module.css";

const MOST = 50;

/** The alerts that fire, as far as they may be seen. */
export function useFiringAlerts() {
  const mayRead = useMay("alerts:read");
  return useQuery({
    queryKey: ["alerts", "count"],
    queryFn: ({ signal }) => call("GET /api/v1/alerts", { query: { limit: MOST, state: "firing" }, signal }),
    refetchInterval: every(60_000),
    enabled: mayRead,
  });
}

/** How many alerts fire, beside the link to them. */
export function AlertCount() {
  const firing = useFiringAlerts();
  useRefreshOn(ofTypes("drumline.alert."), [["alerts", "count"]], 2_000);
  const count = firing.data?.items.length ?? 0;
  if (count === 0) return null;
  const text = count === MOST ? `${MOST}+` : String(count);
  const isCritical = firing.data?.items.some((alert) => alert.severity === "critical");
  return (
    <span className={css.count} data-tone={isCritical ? "bad" : "warn"} title={texts.shell.textAlertsFiring(text)}>
      {text}
    </span>
  );
}
