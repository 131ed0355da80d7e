import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { CopyPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { aboutGroup, useRefreshOn } from "@/api/queries";
import type { FailureBody, TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { JsonTree } from "@/parts/JsonTree";
import { useRemembered } from "@/parts/neighbours";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { Unloaded } from "@/parts/States";
import { readSnippets } from "@/parts/snippets";
import { Tags } from "@/parts/Tags";
import { Time } from "@/parts/Time";
import { Traceback } from "@/parts/Traceback";
import { texts } from "@/texts";
import { ActSheet, type FailureAct } from "./ActSheet";
import css from "./Failures.module.css";
import { RetryFirst, TriageActs, TriagePanel } from "./Triage";

const SubmitSheet = lazy(() => import("@/screens/tasks/SubmitSheet").then((found) => ({ default: found.SubmitSheet })));

const SAMPLE = 200;

const COLUMNS: Column<FailureBody>[] = [
  {
    name: texts.common.task,
    width: "minmax(120px, 1fr)",
    cell: (failure) => (
      <>
        <Link to="/tasks/$id" params={{ id: failure.id }}>
          {failure.name}
        </Link>
        <span className={css.under}>{failure.message}</span>
      </>
    ),
  },
  { name: texts.failures.message, width: "minmax(0, 3fr)", wide: true, cell: (failure) => failure.message },
  { name: texts.common.queue, width: "minmax(70px, 1fr)", wide: true, cell: (failure) => failure.queue },
  { name: texts.common.attempts, width: "76px", wide: true, end: true, cell: (failure) => failure.attempts },
  {
    name: texts.common.failed,
    width: "110px",
    end: true,
    cell: (failure) => <Time at={failure.failed_at} as="relative" />,
  },
];

/** Failures of one cause: a sample, where they are, and what can be done. */
export function Group() {
  const { fingerprint } = useParams({ from: "/failures/$fingerprint" });
  const navigate = useNavigate();
  const mayAct = useMay("tasks:control");
  const maySubmit = useMay("tasks:submit");
  // The task that was chosen: another one may be the latest before the form is sent.
  const [again, setAgain] = useState<TaskBody | null>(null);
  const [act, setAct] = useState<FailureAct | null>(null);
  const group = useQuery({
    queryKey: ["failures", "group", fingerprint],
    queryFn: ({ signal }) => call("GET /api/v1/failures/groups/{fingerprint}", { params: { fingerprint }, signal }),
  });
  const tasks = useQuery({
    queryKey: ["failures", "of", fingerprint],
    queryFn: ({ signal }) => call("GET /api/v1/failures", { query: { fingerprint, limit: SAMPLE }, signal }),
  });
  useRemembered("/tasks", tasks.data?.items.map((failure) => failure.id) ?? []);
  const first = tasks.data?.items[0];
  const sample = useQuery({
    queryKey: ["task", first?.id ?? ""],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}", { params: { id: first?.id ?? "" }, signal }),
    enabled: first !== undefined,
  });
  useRefreshOn(
    aboutGroup(fingerprint, group.data?.names ?? []),
    [
      ["failures", "group", fingerprint],
      ["failures", "of", fingerprint],
    ],
    2_000,
  );
  if (group.data === undefined) return <Unloaded of={group} />;
  const found = group.data;
  return (
    <div className={css.screen}>
      <ScreenHead title={found.kind}>
        {mayAct && (
          <>
            <TriageActs group={found} isPage />
            <RetryFirst group={found} />
            <Button tone="primary" onClick={() => setAct("retry")}>
              {texts.failures.retryAll}
            </Button>
            <Button tone="danger" onClick={() => setAct("discard")}>
              {texts.failures.discard}
            </Button>
          </>
        )}
        <CopyAs title={found.kind} of={() => readSnippets(serverUrl(), "failures", fingerprint)} />
      </ScreenHead>
      <Panel label={texts.common.facts}>
        <Facts
          of={[
            [texts.failures.failures, found.count.toLocaleString("en")],
            [texts.failures.first, <Time key="first" at={found.first_at} />],
            [texts.failures.last, <Time key="last" at={found.last_at} />],
            [texts.common.tasks, <Tags key="names" of={found.names} />],
            [texts.common.queues, <Tags key="queues" of={found.queues} />],
            [texts.failures.message, <code key="message">{found.message}</code>, "wide"],
          ]}
        />
      </Panel>
      {sample.data?.error && (
        <Panel
          title={texts.failures.latestExample}
          aside={
            <>
              <Link to="/tasks/$id" params={{ id: sample.data.id }}>
                {texts.failures.openTheTask}
              </Link>
              {maySubmit && (
                <Button icon={CopyPlus} onClick={() => setAgain(sample.data)}>
                  {texts.task.runAgain}
                </Button>
              )}
            </>
          }
        >
          <Traceback error={sample.data.error} />
          <h3 className={css.payload}>{texts.common.payload}</h3>
          <JsonTree value={sample.data.payload} />
        </Panel>
      )}
      <div className={css.two}>
        <TriagePanel group={found} key={`${found.owner} ${found.note}`} />
        {tasks.data && <Distribution failures={tasks.data.items} isWhole={tasks.data.next_cursor === null} />}
      </div>
      <Panel title={texts.common.tasks} flush>
        {tasks.data === undefined ? (
          <Unloaded of={tasks} />
        ) : (
          <div className={css.tasks}>
            <Rows
              label={texts.failures.failedTasks}
              isTall
              items={tasks.data.items}
              columns={COLUMNS}
              keyOf={(failure) => failure.id}
              onOpen={(failure) => void navigate({ to: "/tasks/$id", params: { id: failure.id } })}
            />
          </div>
        )}
      </Panel>
      {again && (
        <Suspense>
          <SubmitSheet like={again} onClose={() => setAgain(null)} />
        </Suspense>
      )}
      {act && (
        <ActSheet
          act={act}
          title={`${act === "retry" ? texts.common.retry : texts.failures.discard} ${found.kind}`}
          filter={{ fingerprint }}
          onClose={() => setAct(null)}
        />
      )}
    </div>
  );
}

const COLUMNS_OF_TIME = 24;

/** When the failures happened: the time between the first and the last of them in equal parts. */
function Moments({ failures }: { failures: FailureBody[] }) {
  const times = failures.map((failure) => new Date(failure.failed_at).getTime());
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (!(last > first)) return null;
  const counts = new Array<number>(COLUMNS_OF_TIME).fill(0);
  for (const time of times) {
    const place = Math.min(COLUMNS_OF_TIME - 1, Math.floor(((time - first) / (last - first)) * COLUMNS_OF_TIME));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  return (
    <div className={css.moments}>
      <div role="img" aria-label={texts.failures.failuresFailuresOverTime(failures.length)}>
        {counts.map((count, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          <i key={place} style={{ height: `${(100 * count) / most}%` }} title={`${count}`} />
        ))}
      </div>
      <p>
        <Time at={new Date(first).toISOString()} /> <Time at={new Date(last).toISOString()} />
      </p>
    </div>
  );
}

/** Where the failures are: by queue and by task. */
function Distribution({ failures, isWhole }: { failures: FailureBody[]; isWhole: boolean }) {
  const counts = new Map<string, number>();
  for (const failure of failures) {
    const place = texts.failures.nameInQueue(failure.name, failure.queue);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8);
  return (
    <Panel
      title={isWhole ? texts.failures.distribution : texts.failures.distributionOfTheLastFailures(failures.length)}
    >
      <ul className={css.bars}>
        {rows.map(([place, count]) => (
          <li key={place}>
            <span title={place}>{place}</span>
            <i style={{ width: `${(100 * count) / failures.length}%` }} />
            <b>{count}</b>
          </li>
        ))}
      </ul>
      <Moments failures={failures} />
    </Panel>
  );
}
