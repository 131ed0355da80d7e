import type { JobAttemptBody } from "@/api/types";
import { statusTone, statusWord } from "@/parts/Status";
import { span } from "@/parts/time";
import type { Bar, Row } from "@/parts/Waterfall";
import { texts } from "@/texts";
import { type Node, push } from "./model";

/** The tone of how an execution ended. */
const TONES: Record<string, string> = {
  running: "processing",
  completed: "completed",
  failed: "failed",
  crashed: "failed",
};

/** When each task of a job waited and ran, attempt by attempt, the first that started first; the rest has no row. */
export function rowsOf(
  job: { created_at: string },
  nodes: readonly Node[],
  attempts: readonly JobAttemptBody[],
  usual: ReadonlyMap<string, { p50: number; p95: number }>,
  now = Date.now(),
): Row[] {
  const ran = new Map<string, JobAttemptBody[]>();
  for (const attempt of attempts) if (attempt.started_at) push(ran, attempt.key, attempt);
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const rows: Row[] = [];
  for (const node of nodes) {
    const bars = barsOf(node, (ran.get(node.key) ?? []).reverse(), readyAt(job, node, byKey), now);
    if (bars.length > 0) rows.push(rowOf(node, bars, usual));
  }
  return rows.sort((one, other) => startOf(one) - startOf(other));
}

function rowOf(node: Node, bars: Bar[], usual: ReadonlyMap<string, { p50: number; p95: number }>): Row {
  const last = bars.findLast((bar) => bar.kind === "ran");
  const known = usual.get(node.name);
  const took = last ? span((last.to - last.from) / 1000) : texts.parts.waitsFor(span(lengthOf(bars)));
  return {
    id: node.key,
    label: node.key,
    bars,
    text: node.attempt > 1 ? texts.job.tookInAttempt(took, node.attempt) : took,
    usual: known && last ? { from: last.from, p50: known.p50, p95: known.p95 } : undefined,
    isCritical: node.is_critical,
  };
}

/** Executions, with what was waited before each; of a task that is not in the list of executions, its last. */
function barsOf(node: Node, attempts: JobAttemptBody[], ready: number | null, now: number): Bar[] {
  const bars: Bar[] = [];
  let at = ready;
  const wait = (to: number) => {
    if (at !== null && to > at)
      bars.push({ kind: "waited", from: at, to, title: texts.job.waitedValue(span((to - at) / 1000)) });
  };
  const runs = attempts.length > 0 ? attempts.map(runOf) : node.started_at ? [lastOf(node)] : [];
  for (const run of runs) {
    const [from, to] = [Date.parse(run.started), run.finished ? Date.parse(run.finished) : now];
    wait(from);
    const title = `${node.key} ${run.words}, ${span(Math.max(0, to - from) / 1000)}`;
    bars.push({ kind: "ran", from, to: Math.max(from, to), tone: run.tone, title });
    at = to;
  }
  if (node.status === "QUEUED" || node.status === "PENDING") wait(now);
  return bars;
}

interface Run {
  started: string;
  finished: string | null;
  tone: string;
  words: string;
}

function runOf(attempt: JobAttemptBody): Run {
  return {
    started: attempt.started_at ?? "",
    finished: attempt.finished_at,
    tone: TONES[attempt.outcome] ?? "cancelled",
    words: texts.job.attemptEnded(attempt.attempt, attempt.outcome),
  };
}

function lastOf(node: Node): Run {
  return {
    started: node.started_at ?? "",
    finished: node.finished_at,
    tone: statusTone(node.status),
    words: statusWord(node.status).toLowerCase(),
  };
}

/** When a task could have started: when the last of those it needs had ended; nothing while one of them has not. */
function readyAt(job: { created_at: string }, node: Node, byKey: ReadonlyMap<string, Node>): number | null {
  let ready = Date.parse(job.created_at);
  for (const key of node.needs) {
    const end = byKey.get(key)?.finished_at;
    if (!end) return null;
    ready = Math.max(ready, Date.parse(end));
  }
  return ready;
}

function startOf(row: Row): number {
  return row.bars.find((bar) => bar.kind === "ran")?.from ?? row.bars[0]?.to ?? 0;
}

function lengthOf(bars: Bar[]): number {
  return bars.reduce((sum, { from, to }) => sum + to - from, 0) / 1000;
}
