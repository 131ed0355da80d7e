import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { call } from "@/api/client";
import { ABOUT_JOBS, useRefreshOn } from "@/api/queries";
import type { JobBody, JobStatus } from "@/api/types";
import { ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { Empty, Loading, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Tabs } from "@/parts/Tabs";
import { Time, Took } from "@/parts/Time";
import css from "./Jobs.module.css";
import { Progress } from "./Progress";

const STATUSES = ["", "pending", "processing", "completed", "failed", "cancelled"];

const COLUMNS: Column<JobBody>[] = [
  { name: "Status", width: "118px", cell: (job) => <Status of={job.status} small /> },
  {
    name: "Name",
    width: "minmax(140px, 2fr)",
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} className={css.name ?? ""}>
        {job.name}
      </Link>
    ),
  },
  { name: "Progress", width: "minmax(160px, 2fr)", wide: true, cell: (job) => <Progress counts={job.counts} /> },
  { name: "Owner", width: "minmax(80px, 1fr)", wide: true, cell: (job) => job.owner ?? "–" },
  {
    name: "Duration",
    width: "96px",
    wide: true,
    end: true,
    cell: (job) => <Took from={job.started_at} to={job.finished_at} />,
  },
  { name: "Created", width: "110px", end: true, cell: (job) => <Time at={job.created_at} as="relative" /> },
];

export function Jobs() {
  const search = useSearch({ from: "/jobs" });
  const navigate = useNavigate();
  const jobs = useInfiniteQuery({
    queryKey: ["jobs", search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/jobs", {
        query: {
          status: search.status ? [search.status.toUpperCase() as JobStatus] : undefined,
          name: search.name,
          owner: search.owner,
          limit: 100,
          cursor: pageParam,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  useRefreshOn(ABOUT_JOBS, [["jobs"]], 2_000);
  const items = useMemo(() => jobs.data?.pages.flatMap((page) => page.items) ?? [], [jobs.data]);
  const onEnd = useCallback(() => {
    if (jobs.hasNextPage && !jobs.isFetchingNextPage) void jobs.fetchNextPage();
  }, [jobs]);
  return (
    <div className={css.screen}>
      <ScreenHead title="Jobs" />
      <Tabs
        label="Status"
        tabs={STATUSES.map((status) => ({
          id: status,
          label: status ? status.charAt(0).toUpperCase() + status.slice(1) : "All",
        }))}
        current={search.status ?? ""}
        onChange={(status) => void navigate({ to: "/jobs", search: status ? { ...search, status } : {} })}
      />
      <div className={css.list}>
        {jobs.data === undefined ? (
          <Unloaded of={jobs} rows={10} />
        ) : items.length === 0 ? (
          <NoJobs isNarrowed={Object.keys(search).length > 0} />
        ) : (
          <Rows
            label="Jobs"
            items={items}
            columns={COLUMNS}
            keyOf={(job) => job.id}
            onOpen={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
            onEnd={onEnd}
            more={jobs.isFetchingNextPage ? <Loading rows={3} /> : null}
          />
        )}
      </div>
    </div>
  );
}

function NoJobs({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) {
    return (
      <Empty title="No jobs match">
        <Link to="/jobs">All jobs</Link>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet">
      <p>A job is a graph of tasks: each starts when those it needs have ended.</p>
      <pre tabIndex={0}>{`drumline jobs submit - <<'JSON'
{"name": "report", "tasks": {
  "extract": {"command": ["echo", "rows"]},
  "load": {"command": ["echo", "done"], "needs": ["extract"]}}}
JSON`}</pre>
    </Empty>
  );
}
