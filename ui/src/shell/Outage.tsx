import { CloudOff, DatabaseZap } from "lucide-react";
import { isUnreachable } from "@/api/problem";
import { readAgain, useLiveness, useMissing, useStale } from "@/api/queries";
import { problemText } from "@/parts/act";
import { Button } from "@/parts/Button";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { span } from "@/parts/time";
import { texts } from "@/texts";
import css from "./Outage.module.css";

/** Says that what is shown is not what is: since when, how old it is by now, and why. */
export function Outage() {
  const state = useLiveness();
  const stale = useStale();
  if (state.kind === "gone") {
    return (
      <Strip at={state.since}>
        <TextWith
          text={texts.shell.whatYouSeeIsOld}
          values={{ time: <At time={state.since} />, age: <Age from={state.since} /> }}
        />
      </Strip>
    );
  }
  if (stale === null) return <Missing />;
  return (
    <Strip at={stale.since} onRetry={readAgain}>
      {isUnreachable(stale.error) ? "" : texts.shell.partOfThisPageCould}
      {problemText(stale.error)}
      <TextWith
        text={texts.shell.whatYouSeeWasRead}
        values={{ time: <At time={stale.since} />, age: <Age from={stale.since} /> }}
      />
    </Strip>
  );
}

/** Says that answers miss what is in shards that cannot be reached. */
function Missing() {
  const names = useMissing();
  if (names.length === 0) return null;
  return (
    <section className={css.outage} aria-label={texts.shell.incomplete}>
      <DatabaseZap size={16} aria-hidden="true" />
      <p>
        {names.length === 1 ? texts.shell.oneShardAway(names.join(", ")) : texts.shell.shardsAway(names.join(", "))}
      </p>
    </section>
  );
}

function Strip({ at, onRetry, children }: { at: number; onRetry?: () => void; children: React.ReactNode }) {
  return (
    <section className={css.outage} aria-label={texts.shell.outOfDate} data-since={at}>
      <CloudOff size={16} aria-hidden="true" />
      <p>{children}</p>
      {onRetry && <Button onClick={onRetry}>{texts.shell.tryAgain}</Button>}
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
