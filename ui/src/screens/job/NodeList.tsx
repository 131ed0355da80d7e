import { type Column, Rows } from "@/parts/Rows";
import { Status } from "@/parts/Status";
import { Took } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Job.module.css";
import { itemsOf, type Node } from "./model";

interface Props {
  nodes: Node[];
  selected: string | null;
  onSelect: (key: string) => void;
}

/** The same as the graph, for eyes and readers that prefer lines. */
export function NodeList({ nodes, selected, onSelect }: Props) {
  const columns: Column<Node>[] = [
    { name: texts.common.status, width: "118px", cell: (node) => <Status of={node.status} small /> },
    {
      name: texts.common.task,
      width: "minmax(120px, 1fr)",
      cell: (node) => (
        <button type="button" className={css.pick} onClick={() => onSelect(node.key)}>
          {node.key}
        </button>
      ),
    },
    { name: texts.job.needs, width: "minmax(100px, 1fr)", wide: true, cell: (node) => node.needs.join(", ") || "–" },
    {
      name: texts.common.reason,
      width: "minmax(0, 1fr)",
      wide: true,
      cell: (node) => node.reason ?? (node.items ? texts.job.itemsWords(itemsOf(node.items)) : ""),
    },
    {
      name: texts.common.duration,
      width: "90px",
      end: true,
      cell: (node) => <Took from={node.started_at} to={node.finished_at} />,
    },
  ];
  return (
    <div className={css.list}>
      <Rows
        label={texts.job.tasksOfTheJob}
        items={nodes}
        columns={columns}
        keyOf={(node) => node.key}
        idOf={(node) => node.task_id}
        onCurrent={(place) => nodes[place] && onSelect(nodes[place].key)}
        onOpen={(node) => onSelect(node.key)}
        current={nodes.findIndex((node) => node.key === selected)}
      />
    </div>
  );
}
