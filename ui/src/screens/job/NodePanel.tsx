import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { call } from "@/api/client";
import { useMayOn } from "@/api/me";
import { Problem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Facts, Panel } from "@/parts/Panel";
import { Status } from "@/parts/Status";
import { sentence } from "@/parts/sentence";
import { Time, Took } from "@/parts/Time";
import { span } from "@/parts/time";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import css from "./Job.module.css";
import { itemsOf, type Node } from "./model";

const ENDED_BADLY = new Set(["FAILED", "CANCELLED", "SKIPPED"]);

/** The selected task of a job. */
export function NodePanel({ node, jobId }: { node: Node; jobId: string }) {
  const client = useQueryClient();
  const mayAct = useMayOn("tasks:control", { name: node.name });
  const retry = useMutation({
    mutationFn: () => call("POST /api/v1/tasks/{id}/retry", { params: { id: node.task_id } }),
    onSuccess: () => say(texts.job.retryingItAndTheTasks),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["job", jobId] }),
  });
  return (
    <div className={css.node}>
      <Panel title={<span className={css.nodeName}>{node.key}</span>} aside={<Status of={node.status} small />}>
        <Facts
          of={[
            [texts.job.type, node.name],
            ...(node.items ? [[texts.job.items, itemsOf(node.items)] as [string, string]] : []),
            [texts.common.attempt, node.attempt],
            [texts.common.started, <Time key="started" at={node.started_at} />],
            [texts.common.duration, <Took key="took" from={node.started_at} to={node.finished_at} />],
            [texts.job.slack, node.is_critical ? texts.job.noneOnTheCriticalPath : span(node.slack)],
            [texts.job.runsIf, node.run_if.replaceAll("_", " ")],
          ]}
        />
        {node.reason && <p className={css.reason}>{sentence(node.reason)}</p>}
        <p className={css.acts}>
          <Link to="/tasks/$id" params={{ id: node.task_id }}>
            {texts.job.openTheTask}
          </Link>
          {mayAct && ENDED_BADLY.has(node.status) && (
            <Button icon={RotateCcw} busy={retry.isPending} onClick={() => retry.mutate()}>
              {texts.job.retryFromHere}
            </Button>
          )}
        </p>
      </Panel>
    </div>
  );
}
