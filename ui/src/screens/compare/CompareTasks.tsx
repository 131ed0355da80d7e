import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight, GitCompareArrows } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import type { TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Status, shownStatus } from "@/parts/Status";
import { Table } from "@/parts/Table";
import { Time, Took } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Compare.module.css";
import { Differences } from "./Differences";

const ALIKE = 20;
const OPTIONS = [
  "name",
  "queue",
  "priority",
  "retries",
  "timeout",
  "tags",
  "limit_key",
  "schedule_id",
  "worker",
] as const;

/** Two tasks side by side: how they went, and in what their options, payloads, results and errors differ. */
export function CompareTasks() {
  const { a, b } = useSearch({ from: "/tasks/compare" });
  const navigate = useNavigate();
  const before = useTask(a);
  const after = useTask(b);
  if (!a || !b) return <Choose a={a ?? ""} />;
  if (!before.data) return <Unloaded of={before} />;
  if (!after.data) return <Unloaded of={after} />;
  const [one, other] = [before.data, after.data];
  return (
    <div className={css.screen}>
      <ScreenHead
        title={one.name === other.name ? texts.compare.compareTasksOfName(one.name) : texts.compare.compareTasks}
      >
        <Button icon={ArrowLeftRight} onClick={() => void navigate({ to: "/tasks/compare", search: { a: b, b: a } })}>
          {texts.compare.swap}
        </Button>
      </ScreenHead>
      <div className={css.two}>
        <Side title="A" task={one} />
        <Side title="B" task={other} />
      </div>
      <Panel title={texts.common.payload} flush>
        <Differences before={one.payload} after={other.payload} same={texts.compare.thePayloadsAreTheSame} />
      </Panel>
      <Panel title={texts.compare.options} flush>
        <Differences before={optionsOf(one)} after={optionsOf(other)} same={texts.compare.theOptionsAreTheSame} />
      </Panel>
      <Panel title={texts.compare.resultAndError} flush>
        <Differences
          before={{ result: one.result, error: errorOf(one) }}
          after={{ result: other.result, error: errorOf(other) }}
          same={texts.compare.resultsAndErrorsAreThe}
        />
      </Panel>
    </div>
  );
}

function useTask(id: string | undefined) {
  return useQuery({
    enabled: Boolean(id),
    queryKey: ["task", id],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}", { params: { id: id ?? "" }, signal }),
  });
}

function Choose({ a }: { a: string }) {
  const navigate = useNavigate();
  const [first, setFirst] = useState(a);
  const [second, setSecond] = useState("");
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.compare.compareTasks} />
      <Panel label={texts.compare.whichTasks}>
        <form
          className={css.choice}
          onSubmit={(event) => {
            event.preventDefault();
            void navigate({ to: "/tasks/compare", search: { a: first.trim(), b: second.trim() } });
          }}
        >
          <label>
            {texts.compare.taskA}{" "}
            <input value={first} onChange={(event) => setFirst(event.target.value)} placeholder={texts.compare.id} />
          </label>
          <label>
            {texts.compare.taskB}{" "}
            <input value={second} onChange={(event) => setSecond(event.target.value)} placeholder={texts.compare.id} />
          </label>
          <Button type="submit" icon={GitCompareArrows} disabled={!first.trim() || !second.trim()}>
            {texts.compare.compare}
          </Button>
        </form>
      </Panel>
      {a && <Alike id={a} />}
    </div>
  );
}

/** The latest tasks of the same type, to compare with. */
function Alike({ id }: { id: string }) {
  const task = useTask(id);
  const name = task.data?.name;
  const others = useQuery({
    enabled: name !== undefined,
    queryKey: ["tasks", "alike", name],
    queryFn: ({ signal }) => call("GET /api/v1/tasks", { query: { name: name ?? "", limit: ALIKE }, signal }),
  });
  if (!others.data) return <Unloaded of={task.error ? task : others} rows={4} />;
  const found = others.data.items.filter((other) => other.id !== id);
  return (
    <Panel title={texts.compare.latestTasksOf(name ?? "")} flush>
      {found.length === 0 ? (
        <p className={css.same}>{texts.compare.thereIsNoOtherTask}</p>
      ) : (
        <Table head={[texts.common.task, texts.common.status, texts.common.created, texts.common.duration]}>
          {found.map((other) => (
            <tr key={other.id}>
              <th scope="row">
                <Link to="/tasks/compare" search={{ a: id, b: other.id }}>
                  <code>{other.id}</code>
                </Link>
              </th>
              <td>
                <Status of={shownStatus(other)} small />
              </td>
              <td>
                <Time at={other.created_at} />
              </td>
              <td>
                <Took from={other.started_at} to={other.finished_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Side({ title, task }: { title: string; task: TaskBody }) {
  return (
    <Panel
      title={texts.compare.taskTitle(title)}
      aside={
        <Link to="/tasks/$id" params={{ id: task.id }}>
          {texts.compare.openTheTask}
        </Link>
      }
    >
      <Facts
        of={[
          [texts.common.status, <Status key="status" of={shownStatus(task)} small />],
          [texts.common.created, <Time key="created" at={task.created_at} />],
          [texts.common.attempt, task.attempt],
          [texts.common.duration, <Took key="took" from={task.started_at} to={task.finished_at} />],
        ]}
      />
    </Panel>
  );
}

function optionsOf(task: TaskBody): Record<string, unknown> {
  return Object.fromEntries(OPTIONS.map((name) => [name, task[name]]));
}

function errorOf(task: TaskBody): unknown {
  return task.error && { kind: task.error.kind, message: task.error.message };
}
