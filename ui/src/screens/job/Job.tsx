import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Ban, RotateCcw } from "lucide-react";
import { type ReactNode, useCallback } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import { about, every, useRefreshOn } from "@/api/queries";
import type { GraphBody, JobBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Status, statusWord } from "@/parts/Status";
import { sentence } from "@/parts/sentence";
import { jobSnippets } from "@/parts/snippets";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time, Took } from "@/parts/Time";
import { span } from "@/parts/time";
import { say } from "@/parts/toasts";
import { Progress } from "@/screens/jobs/Progress";
import { RunsGrid } from "@/screens/runs/RunsGrid";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { GraphView } from "./GraphView";
import { History } from "./History";
import css from "./Job.module.css";
import { JobFailure } from "./JobFailure";
import { JobWhy } from "./JobWhy";
import { NodeList } from "./NodeList";
import { NodePanel } from "./NodePanel";
import { RunAgain } from "./RunAgain";
import { TimelineView } from "./TimelineView";

const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED"]);
const TABS = [
  { id: "graph", label: texts.job.graph },
  { id: "timeline", label: texts.job.timeline },
  { id: "list", label: texts.job.list },
  { id: "events", label: texts.job.events },
  { id: "runs", label: texts.common.runs },
];

/** A job: its graph, its times and its tasks, linked: what is selected in one is selected in all. */
export function Job() {
  const { id } = useParams({ from: "/jobs/$id" });
  const { tab: given = "graph", node = null } = useSearch({ from: "/jobs/$id" });
  const tab = given === "gantt" ? "timeline" : given; // as links of earlier versions name it
  const navigate = useNavigate();
  const job = useQuery({
    queryKey: ["job", id],
    queryFn: ({ signal }) => call("GET /api/v1/jobs/{id}", { params: { id }, signal }),
    refetchInterval: (query) => every(query.state.data && !ENDED.has(query.state.data.status) ? 2_000 : false)(query),
  });
  const graph = useQuery({
    queryKey: ["job", id, "graph"],
    queryFn: ({ signal }) => call("GET /api/v1/jobs/{id}/graph", { params: { id }, signal }),
    refetchInterval: every(job.data && !ENDED.has(job.data.status) ? 2_000 : false),
  });
  useRefreshOn(about(id), [["job", id]], 1_000);
  const go = useCallback(
    (change: { tab?: string; node?: string }) =>
      void navigate({ to: "/jobs/$id", params: { id }, search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate, id],
  );
  if (job.data === undefined) return <Unloaded of={job} />;
  const selected = graph.data?.nodes.find((one) => one.key === node) ?? null;
  return (
    <div className={css.screen}>
      <Head job={job.data} graph={graph.data} />
      {job.data.status === "FAILED" && graph.data && (
        <JobFailure nodes={graph.data.nodes} onSelect={(key) => go({ node: key })} />
      )}
      <Panel label={texts.common.facts}>
        <Facts of={factsOf(job.data, graph.data)} />
      </Panel>
      <div>
        <Tabs label={texts.job.views} tabs={TABS} current={tab} onChange={(next) => go({ tab: next })} />
        <div className={css.views} data-selected={selected !== null || undefined}>
          <div className={css.view}>
            {graph.data === undefined ? (
              <Unloaded of={graph} />
            ) : tab === "timeline" ? (
              <TimelineView
                job={job.data}
                nodes={graph.data.nodes}
                selected={node}
                onSelect={(key) => go({ node: key })}
              />
            ) : tab === "runs" ? (
              <RunsGrid
                of={job.data.schedule_id ? { schedule_id: job.data.schedule_id } : { name: job.data.name }}
                current={id}
              />
            ) : tab === "events" ? (
              <History job={job.data} nodes={graph.data.nodes} selected={node} onSelect={(key) => go({ node: key })} />
            ) : tab === "list" ? (
              <NodeList nodes={graph.data.nodes} selected={node} onSelect={(key) => go({ node: key })} />
            ) : (
              <GraphView nodes={graph.data.nodes} selected={node} onSelect={(key) => go({ node: key })} />
            )}
          </div>
          {selected && <NodePanel node={selected} jobId={id} />}
        </div>
      </div>
      {!ENDED.has(job.data.status) && <JobWhy id={id} onSelect={(key) => go({ node: key })} />}
    </div>
  );
}

function Head({ job, graph }: { job: JobBody; graph: GraphBody | undefined }) {
  const client = useQueryClient();
  const act = useMutation({
    mutationFn: (what: "resume" | "cancel") =>
      what === "resume"
        ? call("POST /api/v1/jobs/{id}/resume", { params: { id: job.id } })
        : call("POST /api/v1/jobs/{id}/cancel", { params: { id: job.id } }),
    onSuccess: (_, what) =>
      say(what === "resume" ? texts.job.jobResumedFailedTasksRun : texts.job.cancellingRunningTasksAreAsked),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["job", job.id] }),
  });
  const mayAct = useMay("tasks:control");
  const maySubmit = useMay("tasks:submit");
  const canResume = mayAct && (job.status === "FAILED" || job.status === "CANCELLED");
  const canCancel = mayAct && !ENDED.has(job.status);
  useShortcut(
    "retry",
    useCallback(() => canResume && act.mutate("resume"), [canResume, act]),
  );
  useShortcut(
    "cancel",
    useCallback(() => canCancel && act.mutate("cancel"), [canCancel, act]),
  );
  return (
    <ScreenHead
      name={`${statusWord(job.status)}: ${job.name}`}
      crumb={job.name}
      title={
        <span className={css.title}>
          <Status of={job.status} />
          <span className={css.name}>{job.name}</span>
          <span className={css.id}>
            <code>{job.id}</code>
            <Copy text={job.id} what="id" />
          </span>
        </span>
      }
    >
      {canResume && (
        <Button icon={RotateCcw} tone="primary" busy={act.isPending} onClick={() => act.mutate("resume")}>
          {texts.common.resume}
        </Button>
      )}
      {canCancel && (
        <Button icon={Ban} tone="danger" busy={act.isPending} onClick={() => act.mutate("cancel")}>
          {job.cancel_requested ? texts.job.stopping : texts.common.cancel}
        </Button>
      )}
      {maySubmit && graph && <RunAgain job={job} nodes={graph.nodes} />}
      <CopyAs title={job.name} of={() => jobSnippets(serverUrl(), job.id)} />
    </ScreenHead>
  );
}

function factsOf(job: JobBody, graph: GraphBody | undefined): [string, ReactNode][] {
  const facts: [string, ReactNode][] = [
    [texts.common.progress, <Progress key="progress" counts={job.counts} />],
    [texts.common.owner, job.owner ?? "–"],
    [texts.common.created, <Time key="created" at={job.created_at} />],
    [texts.common.started, <Time key="started" at={job.started_at} />],
    [texts.common.finished, <Time key="finished" at={job.finished_at} />],
    [texts.common.duration, <Took key="took" from={job.started_at} to={job.finished_at} />],
  ];
  if (graph && graph.critical_path.seconds > 0) {
    const { seconds, keys } = graph.critical_path;
    const took = (Date.parse(job.finished_at ?? "") - Date.parse(job.started_at ?? "")) / 1000;
    const share = took > 0 ? Math.min(100, Math.round((100 * seconds) / took)) : null;
    facts.push([texts.job.criticalPath, texts.job.spanInTasks(span(seconds), keys.length, share)]);
  }
  if (job.reason) facts.push([texts.common.reason, job.reason]);
  if (job.waits_for > 0) facts.push([texts.job.waitingFor, texts.job.otherJobs(job.waits_for)]);
  if (job.depends_on.length > 0) {
    facts.push([
      texts.job.dependsOn,
      <span key="depends">
        {job.depends_on.map((other) => (
          <Link key={other} to="/jobs/$id" params={{ id: other }} className={css.dependency ?? ""}>
            <code>{other.slice(-12)}</code>
          </Link>
        ))}
      </span>,
    ]);
  }
  if (job.idempotency_key) facts.push([texts.common.idempotencyKey, <code key="key">{job.idempotency_key}</code>]);
  if (job.tags.length > 0) facts.push([texts.common.tags, <Tags key="tags" of={job.tags} />]);
  return facts;
}
