import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import type { TaskBody } from "@/api/types";
import { texts } from "@/texts";
import { shortened } from "./ids";
import { Panel } from "./Panel";
import { Unloaded } from "./States";
import { Status } from "./Status";
import { Table } from "./Table";
import css from "./TaskTable.module.css";
import { Time, Took } from "./Time";

interface Props {
  title: string;
  /** Which tasks, as the list of tasks takes it. */
  query: { queue?: string; name?: string; worker?: string; status?: "PROCESSING" | "FAILED" };
  none: string;
  /** Sorts and shortens what was read; as it is read unless given. */
  pick?: (tasks: TaskBody[]) => TaskBody[];
  limit?: number;
}

/** A short list of tasks on the page of something else. */
export function TaskTable({ title, query, none, pick, limit = 10 }: Props) {
  const { status, ...rest } = query;
  const tasks = useQuery({
    queryKey: ["tasks", "short", query, limit],
    queryFn: ({ signal }) =>
      call("GET /api/v1/tasks", { query: { ...rest, ...(status ? { status: [status] } : {}), limit }, signal }),
    refetchInterval: every(10_000),
  });
  const items = tasks.data ? (pick ? pick(tasks.data.items) : tasks.data.items) : [];
  return (
    <Panel
      title={title}
      flush
      aside={
        <Link to="/tasks" search={{ ...rest, ...(status ? { status: status.toLowerCase() } : {}) }}>
          {texts.common.all}
        </Link>
      }
    >
      {tasks.data === undefined ? (
        <Unloaded of={tasks} rows={3} />
      ) : items.length === 0 ? (
        <p className={css.none}>{none}</p>
      ) : (
        <Table head={[texts.common.task, texts.common.status, texts.common.duration, texts.common.created]}>
          {items.map((task) => (
            <tr key={task.id}>
              <th scope="row" className={css.name}>
                <Link to="/tasks/$id" params={{ id: task.id }}>
                  {query.name ? <code title={task.id}>{shortened(task.id)}</code> : task.name}
                </Link>
              </th>
              <td>
                <Status of={task.status} small />
              </td>
              <td>
                <Took from={task.started_at} to={task.finished_at} />
              </td>
              <td>
                <Time at={task.created_at} as="relative" />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
