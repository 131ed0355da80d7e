import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import { every } from "@/api/queries";
import type { TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { typeSnippets } from "@/parts/createSnippets";
import { type Fact, Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Tabs } from "@/parts/Tabs";
import { TaskTable } from "@/parts/TaskTable";
import { span } from "@/parts/time";
import { type Totals, totalsOf } from "@/parts/totals";
import { TypeObjectives } from "@/screens/alerts/TypeObjectives";
import { ChartsOfOne, RANGES, type Range, useStats } from "@/screens/overview/Charts";
import { useMarks } from "@/screens/overview/marks";
import { sampleOf } from "@/screens/types/form";
import { RunSheet } from "@/screens/types/RunSheet";
import { texts } from "@/texts";
import css from "./Type.module.css";

const SLOWEST = 10;

/** One type of task: how often it runs, how long it takes, what fails, and who runs it. */
export function Type() {
  const { name } = useParams({ from: "/types/$name" });
  const { last: given } = useSearch({ from: "/types/$name" });
  const last: Range = RANGES.find((range) => range === given) ?? "24h";
  const navigate = useNavigate();
  const [isRunning, setRunning] = useState(false);
  const me = useMe();
  const maySubmit = useMay("tasks:submit");
  const stats = useStats(last, undefined, true, name);
  const types = useQuery({
    queryKey: ["types"],
    queryFn: ({ signal }) => call("GET /api/v1/types", { signal }),
    refetchInterval: every(10_000),
  });
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { signal }),
    refetchInterval: every(10_000),
  });
  const type = types.data?.items.find((one) => one.name === name);
  const marks = useMarks({ type: name, queues: type?.queues ?? [] });
  const serving = workers.data?.items.filter((worker) => worker.types.includes(name)) ?? [];
  const apps = serving.map((worker) => worker.app_version).filter(Boolean);
  const versions = [...new Set(apps.length > 0 ? apps : serving.map((worker) => worker.version))].sort();
  return (
    <div className={css.screen}>
      <ScreenHead title={name}>
        <Tabs
          label={texts.common.timeRange}
          tabs={RANGES.map((range) => ({ id: range, label: range }))}
          current={last}
          onChange={(next) => void navigate({ to: "/types/$name", params: { name }, search: { last: next } })}
        />
        {type && maySubmit && isAmong(name, me?.names ?? []) && (
          <Button icon={Play} tone="primary" onClick={() => setRunning(true)}>
            {texts.common.run}
          </Button>
        )}
        <CopyAs
          title={texts.task.submitName(name)}
          of={() => typeSnippets(serverUrl(), name, sampleOf(type?.payload_schema ?? null))}
        />
      </ScreenHead>
      <Panel label={texts.common.facts}>
        {type?.doc && <p className={css.doc}>{type.doc}</p>}
        <Facts
          of={[
            ...(stats.data ? figuresOf(totalsOf(stats.data.points)) : []),
            [
              texts.common.workers,
              serving.length ? (
                <Link key="workers" to="/workers">
                  {String(serving.length)}
                </Link>
              ) : (
                "none"
              ),
            ],
            [texts.type.versions, versions.join(", ") || "–"],
          ]}
        />
      </Panel>
      {stats.data === undefined ? (
        <Unloaded of={stats} />
      ) : (
        <ChartsOfOne stats={stats.data} name={name} marks={marks} />
      )}
      <TypeObjectives task={name} />
      <div className={css.two}>
        <TaskTable title={texts.type.recentFailures} query={{ name, status: "FAILED" }} none={texts.type.noFailures} />
        <TaskTable
          title={texts.type.slowestOfTheLatest100}
          query={{ name }}
          none={texts.type.noTaskOfThisType}
          pick={slowest}
          limit={100}
        />
      </div>
      {isRunning && type && <RunSheet type={type} onClose={() => setRunning(false)} />}
    </div>
  );
}

function figuresOf(totals: Totals): Fact[] {
  return [
    [
      texts.type.successRate,
      totals.success === null ? "–" : `${(100 * totals.success).toFixed(totals.success === 1 ? 0 : 1)} %`,
    ],
    [texts.type.runTimeP50, totals.p50 === null ? "–" : span(totals.p50)],
    [texts.type.runTimeP95, totals.p95 === null ? "–" : span(totals.p95)],
    [texts.type.submitted, totals.submitted.toLocaleString("en")],
    [texts.common.failed, totals.failed.toLocaleString("en")],
  ];
}

function slowest(tasks: TaskBody[]): TaskBody[] {
  const took = (task: TaskBody) => Date.parse(task.finished_at ?? "") - Date.parse(task.started_at ?? "");
  return tasks
    .filter((task) => task.started_at && task.finished_at)
    .sort((one, other) => took(other) - took(one))
    .slice(0, SLOWEST);
}
