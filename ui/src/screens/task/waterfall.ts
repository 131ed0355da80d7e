import { GitBranch, type LucideIcon, Moon, Play, Send, SquareCheck, Timer } from "lucide-react";
import type { AttemptBody, ChildBody, StepBody, TaskBody, TaskWaitBody } from "@/api/types";
import { statusTone, statusWord } from "@/parts/Status";
import { span } from "@/parts/time";
import type { Bar, Row, Usual } from "@/parts/Waterfall";
import { texts } from "@/texts";
import { type Stretch, stretchesOf } from "./timeline";

/** The tone of how an execution ended, or a step. */
const TONES: Record<string, string> = {
  running: "processing",
  completed: "completed",
  done: "completed",
  failed: "failed",
  crashed: "failed",
  timed_out: "failed",
};
const IDLE = { delayed: texts.task.notDueFor, waited: texts.task.waited };
const ICONS: Record<string, LucideIcon> = { sleep: Moon, signal: Send, step: SquareCheck, retry: Timer };

export interface Parts {
  attempts: AttemptBody[];
  steps: StepBody[];
  waits: TaskWaitBody[];
  children: ChildBody[];
  /** How long executions of its type usually take, in seconds. */
  usual: { p50: number; p95: number } | null;
}

/** A task's life as rows: its attempts with the waits before them, then its steps, waits and children. */
export function rowsOf(task: TaskBody, parts: Parts, isEnded: boolean, now = Date.now()): Row[] {
  return [
    ...attemptRows(task, parts, isEnded, now),
    ...parts.steps.map((step) => stepRow(step)),
    ...parts.waits.map((wait) => waitRow(wait, now)),
    ...parts.children.map((child) => childRow(child, now)),
  ];
}

/** One row for each attempt: a durable task's attempt may run several times, with waits in between. */
function attemptRows(task: TaskBody, { attempts, usual }: Parts, isEnded: boolean, now: number): Row[] {
  const rows = new Map<number, Stretch[]>();
  let idle: Stretch[] = [];
  let last = 0;
  for (const stretch of stretchesOf(task, attempts, isEnded, now)) {
    if (stretch.kind !== "ran") {
      idle.push(stretch);
      continue;
    }
    last = stretch.attempt ?? 1;
    rows.set(last, [...(rows.get(last) ?? []), ...idle, stretch]);
    idle = [];
  }
  if (idle.length > 0) rows.set(last + 1, idle);
  return [...rows].map(([number, stretches]) => attemptRow(number, stretches, usual));
}

function attemptRow(number: number, stretches: Stretch[], usual: Parts["usual"]): Row {
  const ran = stretches.filter(({ kind }) => kind === "ran");
  const latest = ran.at(-1);
  return {
    id: `attempt ${number}`,
    label: texts.task.attemptNumber(number),
    icon: Play,
    bars: stretches.map(barOf),
    text: latest ? attemptText(latest, lengthOf(ran)) : texts.parts.waitsFor(span(lengthOf(stretches))),
    // A durable task's attempt runs in parts: what is usual for one of them says nothing of all.
    usual: usual && ran.length === 1 && latest ? markOf(latest.from, usual) : undefined,
  };
}

function attemptText({ outcome }: Stretch, seconds: number): string {
  return outcome === "running" ? texts.task.runsFor(span(seconds)) : `${span(seconds)}, ${outcome}`;
}

function lengthOf(stretches: Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0) / 1000;
}

function barOf({ kind, from, to, attempt, outcome }: Stretch): Bar {
  const took = span((to - from) / 1000);
  if (kind !== "ran") return { kind, from, to, title: `${IDLE[kind]} ${took}` };
  const title =
    outcome === "running"
      ? texts.task.attemptRuns(attempt ?? 0, took)
      : texts.task.attemptAfter(attempt ?? 0, outcome ?? "", took);
  return { kind, from, to, tone: TONES[outcome ?? ""] ?? "cancelled", title };
}

function stepRow(step: StepBody): Row {
  const to = Date.parse(step.finished_at);
  const from = step.started_at ? Date.parse(step.started_at) : to - (step.duration ?? 0) * 1000;
  const isIdle = step.kind === "sleep" || step.kind === "signal";
  const took = span((to - from) / 1000);
  const text = step.status === "done" ? took : `${took}, ${step.status.replace("_", " ")}`;
  return {
    id: `step ${step.name}\n${step.key}`,
    label: nameOf(step),
    icon: ICONS[step.kind] ?? GitBranch,
    depth: 1,
    bars: [
      {
        kind: isIdle ? "waited" : "ran",
        from,
        to,
        tone: TONES[step.status] ?? "cancelled",
        title: `${step.name}: ${text}`,
      },
    ],
    text,
  };
}

function waitRow(wait: TaskWaitBody, now: number): Row {
  const from = Date.parse(wait.since);
  const text = texts.parts.waitsFor(span(Math.max(0, now - from) / 1000));
  return {
    id: `wait ${wait.name}\n${wait.key}`,
    label: nameOf(wait),
    icon: ICONS[wait.kind] ?? GitBranch,
    depth: 1,
    bars: [{ kind: "waited", from, to: Math.max(from, now), title: `${wait.name} ${text}` }],
    text,
  };
}

function childRow(child: ChildBody, now: number): Row {
  const [made, started] = [Date.parse(child.created_at ?? ""), Date.parse(child.started_at ?? "")];
  const end = child.finished_at ? Date.parse(child.finished_at) : now;
  const bars: Bar[] = [];
  const begun = Number.isNaN(started) ? end : started;
  if (begun > made) {
    bars.push({ kind: "waited", from: made, to: begun, title: texts.task.waitedValue(span((begun - made) / 1000)) });
  }
  if (begun === started) {
    const title = `${child.name} ${statusWord(child.status).toLowerCase()}, ${span((end - started) / 1000)}`;
    bars.push({ kind: "ran", from: started, to: Math.max(end, started), tone: statusTone(child.status), title });
  }
  const took = Number.isNaN(started) ? "" : `${span(Math.max(0, end - started) / 1000)}, `;
  return {
    id: child.id,
    label: child.key ? `${child.name} [${child.key}]` : child.name,
    icon: GitBranch,
    depth: 1,
    bars,
    text: `${took}${statusWord(child.status).toLowerCase()}`,
    taskId: child.id,
  };
}

function nameOf({ name, key }: { name: string; key: string | null }): string {
  return key ? `${name} [${key}]` : name;
}

export function markOf(from: number, { p50, p95 }: { p50: number; p95: number }): Usual {
  return { from, p50, p95 };
}
