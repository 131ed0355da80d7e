import { useMutation } from "@tanstack/react-query";
import { CopyPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import type { GraphBody, JobBody, TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { sentence } from "@/parts/sentence";
import { say } from "@/parts/toasts";
import { draftLike, type JobDraft } from "@/screens/jobs/jobForm";
import { texts } from "@/texts";

const JobSheet = lazy(() => import("@/screens/jobs/JobSheet").then((found) => ({ default: found.JobSheet })));

/** Tasks of the largest job that a form is filled in with: their payloads are read for it. */
const MOST = 500;
const AT_ONCE = 100;

/** Submits a job like this one: the form has its tasks with their payloads, to be changed. */
export function RunAgain({ job, nodes }: { job: JobBody; nodes: GraphBody["nodes"] }) {
  const [draft, setDraft] = useState<JobDraft | null>(null);
  const read = useMutation({
    mutationFn: () => tasksOf(job.id),
    onSuccess: (tasks) => setDraft(draftLike(job, nodes, tasks)),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
  });
  if (nodes.length > MOST) return null;
  return (
    <>
      <Button icon={CopyPlus} busy={read.isPending} onClick={() => read.mutate()}>
        {texts.task.runAgain}
      </Button>
      {draft && (
        <Suspense>
          <JobSheet like={draft} onClose={() => setDraft(null)} />
        </Suspense>
      )}
    </>
  );
}

async function tasksOf(job: string): Promise<TaskBody[]> {
  const found: TaskBody[] = [];
  let cursor: string | undefined;
  do {
    const page = await call("GET /api/v1/tasks", { query: { job, payload: true, limit: AT_ONCE, cursor } });
    found.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return found;
}
