import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { call } from "@/api/client";
import type { JobBody, TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { type Difference, differencesOf } from "@/parts/differences";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Table } from "@/parts/Table";
import { Time, Took } from "@/parts/Time";
import { span } from "@/parts/time";
import { texts } from "@/texts";
import css from "./Compare.module.css";
import { type Compared, compared, isOtherwise } from "./compare";
import { DifferenceTable } from "./Differences";

const MOST_PAYLOADS = 200;
const MOST_DIFFERENCES = 100;

/** Two runs of a job side by side: how each task went, and in what their payloads differ. */
export function CompareJobs() {
  const { a, b } = useSearch({ from: "/jobs/compare" });
  const navigate = useNavigate();
  const before = useRun(a);
  const after = useRun(b);
  if (!a || !b) {
    return (
      <Empty title={texts.compare.chooseTwoRuns}>
        <p>{texts.compare.theTabRunsOfA}</p>
        <Link to="/jobs">{texts.common.jobs}</Link>
      </Empty>
    );
  }
  if (!before.data) return <Unloaded of={before} />;
  if (!after.data) return <Unloaded of={after} />;
  const tasks = compared(before.data.nodes, after.data.nodes);
  const longest = Math.max(0.001, ...tasks.flatMap(({ seconds }) => seconds.map((each) => each ?? 0)));
  const changes = payloadChanges(before.data.tasks, after.data.tasks);
  return (
    <div className={css.screen}>
      <ScreenHead
        title={
          before.data.job.name === after.data.job.name
            ? texts.compare.compareRunsOfName(after.data.job.name)
            : texts.compare.compareRuns
        }
      >
        <Button icon={ArrowLeftRight} onClick={() => void navigate({ to: "/jobs/compare", search: { a: b, b: a } })}>
          {texts.compare.swap}
        </Button>
      </ScreenHead>
      <div className={css.two}>
        <Run title="A" job={before.data.job} />
        <Run title="B" job={after.data.job} />
      </div>
      <Panel title={texts.common.tasks} flush>
        <Table
          head={[
            texts.common.task,
            "A",
            "B",
            texts.compare.aTook,
            texts.compare.bTook,
            texts.compare.difference,
            texts.compare.times,
          ]}
        >
          {tasks.map((task) => (
            <TaskRow key={task.key} task={task} longest={longest} a={a} b={b} />
          ))}
        </Table>
      </Panel>
      <Panel title={texts.compare.payloads} flush>
        {changes.length === 0 ? (
          <p className={css.same}>{texts.compare.thePayloadsOfAllTasks}</p>
        ) : (
          <DifferenceTable of={changes} />
        )}
      </Panel>
    </div>
  );
}

interface Run {
  job: JobBody;
  nodes: Parameters<typeof compared>[0];
  tasks: TaskBody[];
}

function useRun(id: string | undefined) {
  return useQuery({
    enabled: Boolean(id),
    queryKey: ["job", id, "compare"],
    queryFn: async ({ signal }): Promise<Run> => {
      const params = { id: id ?? "" };
      const [job, graph, tasks] = await Promise.all([
        call("GET /api/v1/jobs/{id}", { params, signal }),
        call("GET /api/v1/jobs/{id}/graph", { params, signal }),
        call("GET /api/v1/tasks", { query: { job: id ?? "", payload: true, limit: MOST_PAYLOADS }, signal }),
      ]);
      return { job, nodes: graph.nodes, tasks: tasks.items };
    },
  });
}

function Run({ title, job }: { title: string; job: JobBody }) {
  return (
    <Panel
      title={texts.compare.runTitle(title)}
      aside={
        <Link to="/jobs/$id" params={{ id: job.id }}>
          {texts.compare.openTheJob}
        </Link>
      }
    >
      <Facts
        of={[
          [texts.common.status, <Status key="status" of={job.status} small />],
          [
            job.fire_time ? texts.compare.fireTime : texts.common.created,
            <Time key="created" at={job.fire_time ?? job.created_at} />,
          ],
          [texts.common.duration, <Took key="took" from={job.started_at} to={job.finished_at} />],
          [texts.common.tasks, job.counts.total.toLocaleString("en")],
        ]}
      />
    </Panel>
  );
}

function TaskRow({ task, longest, a, b }: { task: Compared; longest: number; a: string; b: string }) {
  const [was, is] = task.seconds;
  return (
    <tr className={isOtherwise(task) ? (css.otherwise ?? "") : ""}>
      <th scope="row">{task.key}</th>
      <td>
        <NodeStatus of={task.before?.status} job={a} node={task.key} />
      </td>
      <td>
        <NodeStatus of={task.after?.status} job={b} node={task.key} />
      </td>
      <td>{was === null ? "–" : span(was)}</td>
      <td>{is === null ? "–" : span(is)}</td>
      <td>
        <Longer seconds={task.longer} was={was} />
      </td>
      <td>
        {(was ?? is) !== null && (
          <span className={css.bars} aria-hidden="true">
            <i style={{ width: `${(100 * (was ?? 0)) / longest}%` }} />
            <i style={{ width: `${(100 * (is ?? 0)) / longest}%` }} />
          </span>
        )}
      </td>
    </tr>
  );
}

function NodeStatus({ of, job, node }: { of: string | undefined; job: string; node: string }) {
  if (!of) return texts.compare.notInIt;
  return (
    <Link to="/jobs/$id" params={{ id: job }} search={{ node }}>
      <Status of={of} small />
    </Link>
  );
}

/** How much longer or shorter something took; what is within a tenth is as good as the same. */
function Longer({ seconds, was }: { seconds: number | null; was: number | null }) {
  if (seconds === null) return "–";
  const isSame = Math.abs(seconds) < 0.1 * Math.max(was ?? 0, 0.01);
  if (isSame) return "same";
  const words = `${seconds > 0 ? "+" : "−"}${span(Math.abs(seconds))}`;
  return <span className={seconds > 0 ? css.longer : css.shorter}>{words}</span>;
}

function payloadChanges(before: TaskBody[], after: TaskBody[]): Difference[] {
  const was = new Map(before.map((task) => [task.key, task.payload]));
  const found: Difference[] = [];
  for (const task of after) {
    if (!was.has(task.key) || found.length >= MOST_DIFFERENCES) continue;
    for (const one of differencesOf(was.get(task.key), task.payload)) {
      found.push({ ...one, path: `${task.key}: ${one.path}` });
    }
  }
  return found.slice(0, MOST_DIFFERENCES);
}
