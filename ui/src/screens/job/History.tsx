import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import { every } from "@/api/queries";
import type { JobBody } from "@/api/types";
import { type Column, Rows } from "@/parts/Rows";
import { Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import { type Happening, historyOf } from "./history";
import css from "./Job.module.css";
import type { Node } from "./model";

interface Props {
  job: JobBody;
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

const MOST = 1_000;

/**
 * What happened in a job, the latest first: every execution, or as many as are worth reading. While an installation is
 * upgraded, a server may answer that cannot list executions: what it told of the tasks themselves is shown then.
 */
export function History({ job, nodes, selected, onSelect }: Props) {
  const attempts = useQuery({
    queryKey: ["job", job.id, "attempts"],
    queryFn: ({ signal }) =>
      call("GET /api/v1/jobs/{id}/attempts", { params: { id: job.id }, query: { limit: MOST }, signal }),
    refetchInterval: every(job.finished_at ? false : 3_000),
  });
  const ran = attempts.data?.items;
  const items = useMemo(() => historyOf(job, nodes, ran ?? []), [job, nodes, ran]);
  const isOld = attempts.error instanceof Problem && attempts.error.isOfOlderServer;
  if (attempts.data === undefined && !isOld) return <Unloaded of={attempts} />;
  const columns: Column<Happening>[] = [
    { name: texts.common.status, width: "118px", cell: (one) => <Status of={one.status} small /> },
    {
      name: texts.job.what,
      width: "minmax(160px, 1fr)",
      cell: (one) =>
        one.key === null ? (
          texts.job.theJob(one.words)
        ) : (
          <>
            <button
              type="button"
              className={css.pick}
              data-selected={one.key === selected || undefined}
              onClick={() => onSelect(one.key ?? "")}
            >
              {one.key}
            </button>{" "}
            {one.words}
          </>
        ),
    },
    { name: texts.job.when, width: "170px", end: true, cell: (one) => <Time at={one.at} /> },
  ];
  return (
    <div className={css.list}>
      <Rows
        label={texts.job.eventsOfTheJob}
        items={items}
        columns={columns}
        keyOf={(one) => one.id}
        idOf={(one) => nodes.find((node) => node.key === one.key)?.task_id ?? job.id}
        onOpen={(one) => one.key !== null && onSelect(one.key)}
      />
      {attempts.data?.is_more && <p className={css.note}>{texts.job.latestExecutions(MOST)}</p>}
      {isOld && !attempts.data && <p className={css.note}>{texts.job.thisIsTheLastExecution}</p>}
    </div>
  );
}
