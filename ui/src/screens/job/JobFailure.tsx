import { Link } from "@tanstack/react-router";
import { Panel } from "@/parts/Panel";
import { texts } from "@/texts";
import css from "./Job.module.css";
import type { Node } from "./model";

const MOST = 4;

/** Which tasks a job failed by, and why; those that were skipped because of them are not told of. */
export function JobFailure({ nodes, onSelect }: { nodes: readonly Node[]; onSelect: (key: string) => void }) {
  const failed = nodes.filter((node) => node.status === "FAILED");
  if (failed.length === 0) return null;
  return (
    <Panel title={texts.job.whyItFailed} flush>
      <ul className={css.failed}>
        {failed.slice(0, MOST).map((node) => (
          <li key={node.key}>
            <button type="button" className={css.pick} onClick={() => onSelect(node.key)}>
              {node.key}
            </button>
            <span>{node.reason ?? node.cause ?? texts.job.noReason}</span>
            <Link to="/tasks/$id" params={{ id: node.task_id }}>
              {texts.job.openTheTask}
            </Link>
          </li>
        ))}
        {failed.length > MOST && <li>{texts.job.andMore(failed.length - MOST)}</li>}
      </ul>
    </Panel>
  );
}
