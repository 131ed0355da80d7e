import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { ABOUT_JOBS, useRefreshOn } from "@/api/queries";
import type { JobBody, JobStatus } from "@/api/types";
import { Button } from "@/parts/Button";
import { CodeBlock } from "@/parts/CodeBlock";
import { Columns } from "@/parts/Columns";
import { Filters } from "@/parts/Filters";
import { useRemembered } from "@/parts/neighbours";
import { ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { SavedViews } from "@/parts/SavedViews";
import { Empty, Loading, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { useSorted } from "@/parts/sorting";
import { Tabs } from "@/parts/Tabs";
import { Time, Took } from "@/parts/Time";
import { TimeRange } from "@/parts/TimeRange";
import { tookMs } from "@/parts/time";
import type { JobsSearch } from "@/routes";
import { sinceOf } from "@/screens/tasks/data";
import { termsOf } from "@/search";
import { texts } from "@/texts";
import css from "./Jobs.module.css";
import { Progress } from "./Progress";

const JobSheet = lazy(() => import("./JobSheet").then((found) => ({ default: found.JobSheet })));

const STATUSES = ["", "pending", "processing", "completed", "failed", "cancelled"];

/** What narrows the list besides its status and its terms. */
const NARROWING = ["name", "owner", "since"] as const;

const COLUMNS: Column<JobBody>[] = [
  { name: texts.common.status, width: "118px", cell: (job) => <Status of={job.status} small /> },
  {
    name: texts.common.name,
    width: "minmax(140px, 2fr)",
    by: (job) => job.name,
    cell: (job) => (
      <>
        <Link to="/jobs/$id" params={{ id: job.id }} className={css.name ?? ""}>
          {job.name}
        </Link>
        <span className={css.under}>
          <Progress counts={job.counts} />
        </span>
      </>
    ),
  },
  {
    name: texts.common.progress,
    width: "minmax(160px, 2fr)",
    wide: true,
    cell: (job) => <Progress counts={job.counts} />,
  },
  {
    name: texts.common.owner,
    width: "minmax(80px, 1fr)",
    wide: true,
    by: (job) => job.owner,
    cell: (job) => job.owner ?? "–",
  },
  {
    name: texts.common.duration,
    width: "96px",
    wide: true,
    end: true,
    by: (job) => tookMs(job),
    cell: (job) => <Took from={job.started_at} to={job.finished_at} />,
  },
  {
    name: texts.common.created,
    width: "110px",
    end: true,
    by: (job) => job.created_at,
    cell: (job) => <Time at={job.created_at} as="relative" />,
  },
];

export function Jobs() {
  const { sort: order, ...search } = useSearch({ from: "/jobs" });
  const kept = order ? { sort: order } : {};
  const navigate = useNavigate();
  const maySubmit = useMay("tasks:submit");
  const [isOpen, setOpen] = useState(false);
  const jobs = useInfiniteQuery({
    queryKey: ["jobs", search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/jobs", {
        query: {
          status: search.status ? [search.status.toUpperCase() as JobStatus] : undefined,
          name: search.name,
          owner: search.owner,
          since: search.since ? sinceOf(search.since, Date.now()) : undefined,
          filter: search.filter,
          limit: 100,
          cursor: pageParam,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  useRefreshOn(ABOUT_JOBS, [["jobs"]], 2_000);
  const loaded = useMemo(() => jobs.data?.pages.flatMap((page) => page.items) ?? [], [jobs.data]);
  const { shown: items, sort, onSort } = useSorted(loaded, COLUMNS, idOf);
  useRemembered(
    "/jobs",
    useMemo(() => items.map((job) => job.id), [items]),
  );
  const onEnd = useCallback(() => {
    if (jobs.hasNextPage && !jobs.isFetchingNextPage) void jobs.fetchNextPage();
  }, [jobs]);
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.common.jobs}>
        <TimeRange
          of={search}
          onChange={(times) => {
            const { since: _since, filter: _filter, ...rest } = search;
            void navigate({ to: "/jobs", search: { ...rest, ...times, ...kept } });
          }}
        />
        <SavedViews
          page="jobs"
          filter={jobTerms(search)}
          label={texts.common.jobs}
          columns={COLUMNS}
          onOpen={(filter) => void navigate({ to: "/jobs", search: filter ? { filter } : {} })}
        />
        <Columns label={texts.common.jobs} columns={COLUMNS} />
        {maySubmit && (
          <Button icon={Plus} tone="primary" onClick={() => setOpen(true)}>
            {texts.jobs.submitJob}
          </Button>
        )}
      </ScreenHead>
      <Tabs
        label={texts.common.status}
        tabs={STATUSES.map((status) => ({
          id: status,
          label: status ? status.charAt(0).toUpperCase() + status.slice(1) : texts.common.all,
        }))}
        current={search.status ?? ""}
        onChange={(status) => void navigate({ to: "/jobs", search: { ...statusOf(search, status), ...kept } })}
      />
      <Filters to="/jobs" search={{ ...search, ...kept }} of={NARROWING} />
      <div className={css.list}>
        {jobs.data === undefined ? (
          <Unloaded of={jobs} rows={10} />
        ) : items.length === 0 ? (
          <NoJobs isNarrowed={Object.keys(search).length > 0} />
        ) : (
          <Rows
            label={texts.common.jobs}
            isTall
            items={items}
            columns={COLUMNS}
            keyOf={idOf}
            sort={sort}
            onSort={onSort}
            onOpen={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
            onEnd={onEnd}
            more={jobs.isFetchingNextPage ? <Loading rows={3} /> : null}
          />
        )}
      </div>
      {isOpen && (
        <Suspense>
          <JobSheet onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </div>
  );
}

function idOf(job: JobBody): string {
  return job.id;
}

/** What the list shows, as terms that a view keeps. */
function jobTerms({ filter, ...search }: JobsSearch): string {
  return termsOf(search, filter);
}

function statusOf(search: JobsSearch, status: string): JobsSearch {
  const { status: _status, ...rest } = search;
  return status ? { ...rest, status } : rest;
}

function NoJobs({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) {
    return (
      <Empty title={texts.jobs.noJobsMatch}>
        <Link to="/jobs">{texts.jobs.allJobs}</Link>
      </Empty>
    );
  }
  return (
    <Empty title={texts.jobs.noJobsYet}>
      <p>{texts.jobs.aJobIsAGraph}</p>
      <CodeBlock
        what={texts.overview.command}
        code={`drumline jobs submit - <<'JSON'
{"name": "report", "tasks": {
  "extract": {"command": ["echo", "rows"]},
  "load": {"command": ["echo", "done"], "needs": ["extract"]}}}
JSON`}
      />
    </Empty>
  );
}
