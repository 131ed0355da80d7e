import { useMemo } from "react";
import type { JobBody } from "@/api/types";
import { type Column, Rows } from "@/parts/Rows";
import { Status } from "@/parts/Status";
import { Time } from "@/parts/Time";
import { type Happening, historyOf } from "./history";
import css from "./Job.module.css";
import type { Node } from "./model";

interface Props {
  job: JobBody;
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

/** What happened in a job, the latest first. */
export function History({ job, nodes, selected, onSelect }: Props) {
  const items = useMemo(() => historyOf(job, nodes), [job, nodes]);
  const columns: Column<Happening>[] = [
    { name: "Status", width: "118px", cell: (one) => <Status of={one.status} small /> },
    {
      name: "What",
      width: "minmax(160px, 1fr)",
      cell: (one) =>
        one.key === null ? (
          `The job ${one.words}`
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
    { name: "When", width: "170px", end: true, cell: (one) => <Time at={one.at} /> },
  ];
  return (
    <div className={css.list}>
      <Rows
        label="Events of the job"
        items={items}
        columns={columns}
        keyOf={(one) => `${one.at} ${one.key} ${one.words}`}
        onOpen={(one) => one.key !== null && onSelect(one.key)}
      />
    </div>
  );
}
