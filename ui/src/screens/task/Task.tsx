import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Ban, FastForward, RotateCcw } from "lucide-react";
import { useCallback } from "react";
import { call } from "@/api/client";
import { useMayOn } from "@/api/me";
import { encode } from "@/api/numbers";
import { Problem } from "@/api/problem";
import { about, every, useRefreshOn } from "@/api/queries";
import type { ProgressBody, TaskBody } from "@/api/types";
import { attemptWords } from "@/parts/attempts";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { JsonTree } from "@/parts/JsonTree";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { sentence, Unloaded } from "@/parts/States";
import { Status, statusWord } from "@/parts/Status";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time, Took } from "@/parts/Time";
import { Traceback } from "@/parts/Traceback";
import { say } from "@/parts/toasts";
import { useShortcut } from "@/shell/shortcuts";
import { Artifacts } from "./Artifacts";
import { Attempts } from "./Attempts";
import { Log } from "./Log";
import css from "./Task.module.css";
import { Timeline } from "./Timeline";
import { Why } from "./Why";

const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED", "SKIPPED"]);
const TABS = [
  { id: "data", label: "Data" },
  { id: "attempts", label: "Attempts" },
  { id: "log", label: "Log" },
  { id: "artifacts", label: "Artifacts" },
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
        <Panel title={found.status === "FAILED" ? "Why it failed" : "What went wrong last"}>
          <Traceback error={found.error} />
        </Panel>
      )}
      {found.progress && <TaskProgress progress={found.progress} />}
      <Panel label="Facts">
        <Facts of={factsOf(found)} />
      </Panel>
      <Timeline task={found} isEnded={ENDED.has(found.status)} />
      <div>
        <Tabs
          label="Parts"
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
  retry: "It will run again",
  cancel: "Cancelled, or asked to stop",
  hurry: "It is due now",
};

function Head({ task }: { task: TaskBody }) {
  const client = useQueryClient();
  const act = useMutation({
    mutationFn: (what: Act) => ACTS[what](task.id),
    onSuccess: (_, what) => say(DONE[what]),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["task", task.id] }),
  });
  const mayAct = useMayOn("tasks:control", task);
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
      name={`${statusWord(task.status)}: ${task.name}`}
      title={
        <span className={css.title}>
          <Status of={task.status} />
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
          Retry
        </Button>
      )}
      {canHurry && (
        <Button icon={FastForward} busy={act.isPending} onClick={() => act.mutate("hurry")}>
          Run now
        </Button>
      )}
      {canCancel && (
        <Button icon={Ban} tone="danger" busy={act.isPending} onClick={() => act.mutate("cancel")}>
          {task.cancel_requested ? "Stopping…" : "Cancel"}
        </Button>
      )}
    </ScreenHead>
  );
}

/** How far the running attempt is, by its own word. */
function TaskProgress({ progress: { done, total, message } }: { progress: ProgressBody }) {
  const share = total ? Math.min(1, done / total) : null;
  const words = total ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : done.toLocaleString("en");
  return (
    <Panel label="Progress">
      <div className={css.progress}>
        <progress aria-label="Progress" max={1} {...(share === null ? {} : { value: share })} />
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
  const facts: [string, React.ReactNode][] = [
    [
      "Queue",
      <Link key="queue" to="/tasks" search={{ queue: task.queue }}>
        {task.queue}
      </Link>,
    ],
    ["Priority", task.priority],
    ["Attempt", attemptWords(task.attempt, task.retries)],
    ["Created", <Time key="created" at={task.created_at} />],
    [ENDED.has(task.status) ? "Was due" : "Due", <Time key="due" at={task.due_at} />],
    ["Started", <Time key="started" at={task.started_at} />],
    ["Finished", <Time key="finished" at={task.finished_at} />],
    ["Duration", <Took key="took" from={task.started_at} to={task.finished_at} />],
  ];
  if (task.worker)
    facts.push([
      "Worker",
      <Link key="worker" to="/tasks" search={{ worker: task.worker }}>
        {task.worker}
      </Link>,
    ]);
  if (task.job_id)
    facts.push([
      "Job",
      <Link key="job" to="/jobs/$id" params={{ id: task.job_id }} search={task.key ? { node: task.key } : {}}>
        {task.key ?? task.job_id}
      </Link>,
    ]);
  if (task.schedule_id)
    facts.push([
      "Schedule",
      <Link key="schedule" to="/schedules/$id" params={{ id: task.schedule_id }}>
        fired <Time at={task.fire_time} />
      </Link>,
    ]);
  if (task.shard) facts.push(["Shard", task.shard]);
  if (task.timeout) facts.push(["Timeout", `${task.timeout} s`]);
  if (task.expires_at) facts.push(["Expires", <Time key="expires" at={task.expires_at} />]);
  if (task.idempotency_key) facts.push(["Idempotency key", <code key="key">{task.idempotency_key}</code>]);
  if (task.tags.length) facts.push(["Tags", <Tags key="tags" of={task.tags} />]);
  return facts;
}

function Data({ task }: { task: TaskBody }) {
  return (
    <div className={css.data}>
      <Panel title="Payload" aside={<Copy text={encode(task.payload, 2)} what="payload" />}>
        <JsonTree value={task.payload} />
      </Panel>
      <Panel title="Result" aside={task.result !== undefined && <Copy text={encode(task.result, 2)} what="result" />}>
        {task.result === undefined ? (
          <p className={css.none}>{ENDED.has(task.status) ? "None." : "None yet."}</p>
        ) : (
          <JsonTree value={task.result} />
        )}
      </Panel>
    </div>
  );
}
