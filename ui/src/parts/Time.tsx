import { useEffect, useReducer } from "react";
import { usePreferences } from "@/preferences";
import { between, clock, full, localZone, relative } from "./time";

/** A moment, in the zone that the person has chosen; the pointer shows it in every way. */
export function Time({ at, as = "clock" }: { at: string | null | undefined; as?: "clock" | "relative" }) {
  const { zone } = usePreferences();
  useTick(as === "relative" && Boolean(at));
  if (!at) return <span>–</span>;
  const title = `${full(at, undefined)} ${localZone()}\n${full(at, "UTC")} UTC\n${relative(at)}`;
  return (
    <time dateTime={at} title={title}>
      {as === "relative" ? relative(at) : clock(at, zone)}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  useTick(Boolean(from) && !to);
  return <span>{between(from, to)}</span>;
}

/** Draw anew each second, while that is needed. */
export function useTick(isNeeded: boolean): void {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [isNeeded]);
}
