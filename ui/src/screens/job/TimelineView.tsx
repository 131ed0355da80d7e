import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { JobBody } from "@/api/types";
import { useUsual } from "@/api/usual";
import { Empty } from "@/parts/States";
import { useTick } from "@/parts/Time";
import { Waterfall } from "@/parts/Waterfall";
import { texts } from "@/texts";
import type { Node } from "./model";
import { rowsOf } from "./waterfall";

interface Props {
  job: JobBody;
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

const MOST = 1_000;

/** When each task of a job waited and ran, attempt by attempt, against how long its type usually takes. */
export function TimelineView({ job, nodes, selected, onSelect }: Props) {
  const isEnded = Boolean(job.finished_at);
  const attempts = useQuery({
    queryKey: ["job", job.id, "attempts"],
    queryFn: ({ signal }) =>
      call("GET /api/v1/jobs/{id}/attempts", { params: { id: job.id }, query: { limit: MOST }, signal }),
    refetchInterval: every(isEnded ? false : 3_000),
  });
  const usual = useUsual(nodes.map((node) => node.name));
  useTick(!isEnded);
  const now = isEnded ? 0 : Math.floor(Date.now() / 1000) * 1000;
  const ran = attempts.data?.items;
  const known = usual.size;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the map is another one each time; it is filled once
  const rows = useMemo(() => rowsOf(job, nodes, ran ?? [], usual, now), [job, nodes, ran, known, now]);
  if (rows.length === 0) return <Empty title={texts.job.notStartedYet} />;
  const left = nodes.length - rows.length;
  return (
    <Waterfall
      label={texts.job.timesOfTheTasksThe}
      rows={rows}
      note={left > 0 ? texts.job.notStarted(left, nodes.length) : undefined}
      selected={selected}
      onSelect={onSelect}
    />
  );
}
