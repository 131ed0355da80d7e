import { useEffect, useReducer } from "react";
import { live } from "@/api/live";
import { useLiveness } from "@/api/queries";
import { clock } from "@/parts/time";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import css from "./LiveIndicator.module.css";

/** Whether the page shows what is, and a way to pause it. */
export function LiveIndicator() {
  const state = useLiveness();
  const { zone } = usePreferences();
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, 5_000);
    return () => clearInterval(timer);
  }, []);
  const words: Record<typeof state.kind, string> = {
    connecting: texts.shell.connecting,
    live: texts.shell.live,
    polling: texts.shell.polling(state.kind === "polling" ? state.every : 5),
    paused: texts.shell.paused,
    gone: state.kind === "gone" ? texts.shell.notReachableSince(clock(new Date(state.since).toISOString(), zone)) : "",
  };
  const title = state.kind === "paused" ? texts.shell.resume : texts.shell.pause;
  return (
    <button
      type="button"
      className={css.live}
      data-kind={state.kind}
      title={`${words[state.kind]}. ${title}`}
      onClick={() => live.togglePause()}
    >
      <span className={css.dot} aria-hidden="true" />
      <span className={css.word}>{words[state.kind]}</span>
    </button>
  );
}
