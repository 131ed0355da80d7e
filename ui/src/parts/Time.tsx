import { useEffect, useReducer } from "react";
import { usePreferences } from "@/preferences";
import { between, clock, exact, full, localZone, relative } from "./time";

interface Props {
  at: string | null | undefined;
  /** By the clock, also to the millisecond, from now, or in words of one's own, which are asked for each second. */
  as?: "clock" | "exact" | "relative" | (() => string);
}

/** A moment, in the zone that the person has chosen; the pointer shows it in every way. */
export function Time({ at, as = "clock" }: Props) {
  const { zone } = usePreferences();
  useTick(as !== "clock" && as !== "exact" && Boolean(at));
  if (!at) return <span>–</span>;
  const title = `${full(at, undefined)} ${localZone()}\n${full(at, "UTC")} UTC\n${relative(at)}`;
  return (
    <time dateTime={at} title={title}>
      {typeof as === "function" ? as() : as === "relative" ? relative(at) : (as === "exact" ? exact : clock)(at, zone)}
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
