import { CloudOff, DatabaseZap } from "lucide-react";
import { isUnreachable } from "@/api/problem";
import { readAgain, useLiveness, useMissing, useStale } from "@/api/queries";
import { problemText } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import css from "./Outage.module.css";

/** Says that what is shown is not what is: since when, how old it is by now, and why. */
export function Outage() {
  const state = useLiveness();
  const stale = useStale();
  if (state.kind === "gone") {
    return (
      <Strip at={state.since}>
        Server not reachable since <At time={state.since} />, retrying. What you see is <Age from={state.since} /> old.
      </Strip>
    );
  }
  if (stale === null) return <Missing />;
  return (
    <Strip at={stale.since} onRetry={readAgain}>
      {isUnreachable(stale.error) ? "" : "A part of this page could not be read again. "}
      {problemText(stale.error)} What you see was read at <At time={stale.since} />, <Age from={stale.since} /> ago.
    </Strip>
  );
}

/** Says that answers miss what is in shards that cannot be reached. */
function Missing() {
  const names = useMissing();
  if (names.length === 0) return null;
  return (
    <section className={css.outage} aria-label="Incomplete">
      <DatabaseZap size={16} aria-hidden="true" />
      <p>
        {names.length === 1 ? "The shard" : "The shards"} {names.join(", ")} cannot be reached: lists and counts miss
        what {names.length === 1 ? "it holds" : "they hold"}.
      </p>
    </section>
  );
}

function Strip({ at, onRetry, children }: { at: number; onRetry?: () => void; children: React.ReactNode }) {
  return (
    <section className={css.outage} aria-label="Out of date" data-since={at}>
      <CloudOff size={16} aria-hidden="true" />
      <p>{children}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </section>
  );
}

function At({ time }: { time: number }) {
  return <Time at={new Date(time).toISOString()} />;
}

/** How long ago something was, counting. */
function Age({ from }: { from: number }) {
  const at = new Date(from).toISOString();
  return <Time at={at} as={() => span(Math.max(1, Math.round((Date.now() - from) / 1000)))} />;
}
