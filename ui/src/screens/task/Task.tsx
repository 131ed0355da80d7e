import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Ban, CopyPlus, FastForward, GitCompareArrows, RotateCcw } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useState } from "react";
import { call } from "@/api/client";
import { useMayOn } from "@/api/me";
import { encode } from "@/api/numbers";
import { Problem } from "@/api/problem";
import { about, every, useRefreshOn } from "@/api/queries";
import type { ProgressBody, TaskBody } from "@/api/types";
import { attemptWords } from "@/parts/attempts";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { shortened } from "@/parts/ids";
import { JsonTree } from "@/parts/JsonTree";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Status, shownStatus, statusWord } from "@/parts/Status";
import { sentence } from "@/parts/sentence";
import { taskSnippets } from "@/parts/snippets";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { TextWith } from "@/parts/TextWith";
import { Time, Took } from "@/parts/Time";
import { Traceback } from "@/parts/Traceback";
import { span } from "@/parts/time";
import { say } from "@/parts/toasts";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { Artifacts } from "./Artifacts";
import { Attempts } from "./Attempts";
import { FailureGroupLink } from "./FailureGroupLink";
import { Log } from "./Log";
import { Steps } from "./Steps";
import css from "./Task.module.css";
import { Timeline } from "./Timeline";
import { Why } from "./Why";

const SubmitSheet = lazy(() => import("@/screens/tasks/SubmitSheet").then((found) => ({ default: found.SubmitSheet })));

const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED", "SKIPPED"]);
const TABS = [
  { id: "data", label: texts.task.data },
  { id: "attempts", label: texts.common.attempts },
  { id: "log", label: texts.task.log },
  { id: "artifacts", label: texts.task.artifacts },
];

export function Task() {
  const { id } = useParams({ from: "/tasks/$id" });
  const { tab = "data" } = useSearch({ from: "/tasks/$id" });
  const navigate = useNavigate();
  const task = useQuery({
    queryKey: ["task", id],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}", { params: { id }, signal }),
    refetchInterval: (query) => every(query.state.data && !ENDED.has(query.state.data.status) ? 2_000 : false)(query),
  });
  useRefreshOn(about(id), [["task", id]]);
  if (task.data === undefined) return <Unloaded of={task} />;
  const found = task.data;
  return (
    <div className={css.screen}>
      <Head task={found} />
      {(found.status === "PENDING" || found.status === "QUEUED") && <Why id={id} />}
      {found.error && (
        <Panel
          title={found.status === "FAILED" ? texts.task.whyItFailed : texts.task.lastError}
          aside={found.status === "FAILED" && <FailureGroupLink id={id} />}
        >
          <Traceback error={found.error} />
        </Panel>
      )}
      {found.progress && <TaskProgress progress={found.progress} />}
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(found)} />
      </Panel>
      <Steps task={found} isEnded={ENDED.has(found.status)} />
      <div>
        <Tabs
          label={texts.task.parts}
          tabs={TABS}
          current={tab}
          onChange={(next) => void navigate({ to: "/tasks/$id", params: { id }, search: { tab: next }, replace: true })}
        />
        {tab === "attempts" ? (
          <Attempts id={id} isEnded={ENDED.has(found.status)} />
        ) : tab === "log" ? (
          <Log id={id} isEnded={ENDED.has(found.status)} />
        ) : tab === "artifacts" ? (
          <Artifacts id={id} />
        ) : (
          <Data task={found} />
        )}
      </div>
      <Timeline task={found} isEnded={ENDED.has(found.status)} />
    </div>
  );
}

type Act = "retry" | "cancel" | "hurry";
const ACTS: Record<Act, (id: string) => Promise<unknown>> = {
  retry: (id) => call("POST /api/v1/tasks/{id}/retry", { params: { id } }),
  cancel: (id) => call("POST /api/v1/tasks/{id}/cancel", { params: { id } }),
  hurry: (id) => call("PATCH /api/v1/tasks/{id}", { params: { id }, body: { delay: 0 } }),
};
const DONE: Record<Act, string> = {
  retry: texts.task.retryRequested,
  cancel: texts.task.cancellationRequested,
  hurry: texts.task.dueNow,
};

function Head({ task }: { task: TaskBody }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const act = useMutation({
    mutationFn: (what: Act) => ACTS[what](task.id),
    onSuccess: (_, what) => say(DONE[what]),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["task", task.id] }),
  });
  const mayAct = useMayOn("tasks:control", task);
  const maySubmit = useMayOn("tasks:submit", task);
  const [isAgain, setAgain] = useState(false);
  const jobId = task.job_id ?? "";
  const job = useQuery({
    queryKey: ["job", jobId],
    queryFn: ({ signal }) => call("GET /api/v1/jobs/{id}", { params: { id: jobId }, signal }),
    enabled: jobId !== "",
    staleTime: Number.POSITIVE_INFINITY, // for its name alone
  });
  const canRetry = mayAct && ENDED.has(task.status) && task.status !== "COMPLETED";
  const canCancel = mayAct && !ENDED.has(task.status);
  const canHurry = mayAct && task.status === "PENDING" && task.due_at !== null && Date.parse(task.due_at) > Date.now();
  useShortcut(
    "retry",
    useCallback(() => canRetry && act.mutate("retry"), [canRetry, act]),
  );
  useShortcut(
    "cancel",
    useCallback(() => canCancel && act.mutate("cancel"), [canCancel, act]),
  );
  return (
    <ScreenHead
      name={`${statusWord(shownStatus(task))}: ${task.name}`}
      crumb={task.key ?? task.name}
      path={task.job_id ? pathOf(task.job_id, job.data?.name) : undefined}
      title={
        <span className={css.title}>
          <Status of={shownStatus(task)} />
          <span className={css.name}>{task.name}</span>
          <span className={css.id}>
            <code>{task.id}</code>
            <Copy text={task.id} what="id" />
          </span>
        </span>
      }
    >
      {canRetry && (
        <Button icon={RotateCcw} tone="primary" busy={act.isPending} onClick={() => act.mutate("retry")}>
          {texts.common.retry}
        </Button>
      )}
      {canHurry && (
        <Button icon={FastForward} busy={act.isPending} onClick={() => act.mutate("hurry")}>
          {texts.common.runNow}
        </Button>
      )}
      {canCancel && (
        <Button icon={Ban} tone="danger" busy={act.isPending} onClick={() => act.mutate("cancel")}>
          {task.cancel_requested ? texts.task.stopping : texts.common.cancel}
        </Button>
      )}
      {maySubmit && (
        <Button icon={CopyPlus} onClick={() => setAgain(true)}>
          {texts.task.runAgain}
        </Button>
      )}
      <Button icon={GitCompareArrows} onClick={() => void navigate({ to: "/tasks/compare", search: { a: task.id } })}>
        {texts.task.compare}
      </Button>
      <CopyAs title={texts.task.submitName(task.name)} of={() => taskSnippets(serverUrl(), task)} />
      {isAgain && (
        <Suspense>
          <SubmitSheet like={task} onClose={() => setAgain(false)} />
        </Suspense>
      )}
    </ScreenHead>
  );
}

/** The job that a task belongs to, below the list of jobs. */
function pathOf(id: string, name: string | undefined): ReactNode[] {
  return [
    <Link key="jobs" to="/jobs">
      {texts.common.jobs}
    </Link>,
    <Link key="job" to="/jobs/$id" params={{ id }}>
      {name ?? shortened(id)}
    </Link>,
  ];
}

/** How far the running attempt is, by its own word. */
function TaskProgress({ progress: { done, total, message } }: { progress: ProgressBody }) {
  const share = total ? Math.min(1, done / total) : null;
  const words = total ? texts.parts.ofAll(done, total) : done.toLocaleString("en");
  return (
    <Panel label={texts.common.progress}>
      <div className={css.progress}>
        <progress aria-label={texts.common.progress} max={1} {...(share === null ? {} : { value: share })} />
        <span>
          {words}
          {share !== null && ` (${Math.floor(share * 100)} %)`}
        </span>
        {message && <span className={css.message}>{message}</span>}
      </div>
    </Panel>
  );
}

function factsOf(task: TaskBody): Fact[] {
  const facts: [string, ReactNode][] = [
    [
      texts.common.type,
      <Link key="type" to="/types/$name" params={{ name: task.name }}>
        {task.name}
      </Link>,
    ],
    [
      texts.common.queue,
      <Link key="queue" to="/queues/$name" params={{ name: task.queue }}>
        {task.queue}
      </Link>,
    ],
    [texts.task.priority, task.priority],
    [texts.common.attempt, attemptWords(task.attempt, task.retries)],
    [texts.common.created, <Time key="created" at={task.created_at} />],
    [ENDED.has(task.status) ? texts.task.wasDue : texts.task.due, <Time key="due" at={task.due_at} />],
    [texts.common.started, <Time key="started" at={task.started_at} />],
    [texts.common.finished, <Time key="finished" at={task.finished_at} />],
    [texts.common.duration, <Took key="took" from={task.started_at} to={task.finished_at} />],
  ];
  if (task.worker)
    facts.push([
      texts.common.worker,
      <Link key="worker" to="/workers/$id" params={{ id: task.worker }}>
        {task.worker}
      </Link>,
    ]);
  if (task.job_id)
    facts.push([
      texts.task.job,
      <Link key="job" to="/jobs/$id" params={{ id: task.job_id }} search={task.key ? { node: task.key } : {}}>
        {task.key ?? task.job_id}
      </Link>,
    ]);
  if (task.schedule_id)
    facts.push([
      texts.common.schedule,
      <Link key="schedule" to="/schedules/$id" params={{ id: task.schedule_id }}>
        <TextWith text={texts.task.fired} values={{ time: <Time at={task.fire_time} /> }} />
      </Link>,
    ]);
  if (task.forked_from)
    facts.push([
      texts.task.forkOf,
      <Link key="fork" to="/tasks/$id" params={{ id: task.forked_from }}>
        <code>{task.forked_from}</code>
      </Link>,
    ]);
  if (task.shard) facts.push([texts.task.shard, task.shard]);
  if (task.timeout) facts.push([texts.task.timeout, span(task.timeout)]);
  if (task.expires_at) facts.push([texts.task.expires, <Time key="expires" at={task.expires_at} />]);
  if (task.idempotency_key) facts.push([texts.common.idempotencyKey, <code key="key">{task.idempotency_key}</code>]);
  if (task.tags.length) facts.push([texts.common.tags, <Tags key="tags" of={task.tags} />]);
  return facts;
}

function Data({ task }: { task: TaskBody }) {
  return (
    <div className={css.data}>
      <Panel title={texts.common.payload} aside={<Copy text={encode(task.payload, 2)} what="payload" />}>
        <JsonTree value={task.payload} />
      </Panel>
      <Panel
        title={texts.task.result}
        aside={task.result !== undefined && <Copy text={encode(task.result, 2)} what="result" />}
      >
        {task.result === undefined ? (
          <p className={css.none}>{ENDED.has(task.status) ? texts.task.none : texts.task.noneYet}</p>
        ) : (
          <JsonTree value={task.result} />
        )}
      </Panel>
    </div>
  );
}
