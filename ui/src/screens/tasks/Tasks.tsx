import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowUp, Plus } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import type { TaskBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { copy } from "@/parts/Copy";
import { ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { Empty, Loading, Trouble } from "@/parts/States";
import { Status } from "@/parts/Status";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time, Took } from "@/parts/Time";
import { say } from "@/parts/toasts";
import type { TaskSearch } from "@/search";
import { useShortcut } from "@/shell/shortcuts";
import { useTasks } from "./data";
import { FirstTask } from "./FirstTask";
import { SelectionBar } from "./SelectionBar";
import { SubmitSheet } from "./SubmitSheet";
import css from "./Tasks.module.css";

const STATUSES = ["", "pending", "queued", "processing", "completed", "failed", "cancelled", "skipped"];

const COLUMNS: Column<TaskBody>[] = [
  { name: "Status", width: "118px", cell: (task) => <Status of={task.status} small /> },
  {
    name: "Name",
    width: "minmax(140px, 2fr)",
    cell: (task) => (
      <Link to="/tasks/$id" params={{ id: task.id }} className={css.name ?? ""}>
        {task.name}
      </Link>
    ),
  },
  { name: "Error", width: "minmax(0, 2fr)", wide: true, cell: (task) => <ErrorLine task={task} /> },
  { name: "Queue", width: "minmax(70px, 1fr)", wide: true, cell: (task) => task.queue },
  { name: "Tags", width: "minmax(0, 1fr)", wide: true, cell: (task) => <Tags of={task.tags} /> },
  { name: "Attempt", width: "64px", wide: true, end: true, cell: (task) => `${task.attempt}/${task.retries + 1}` },
  {
    name: "Took",
    width: "86px",
    wide: true,
    end: true,
    cell: (task) => <Took from={task.started_at} to={task.finished_at} />,
  },
  { name: "Created", width: "110px", end: true, cell: (task) => <Time at={task.created_at} as="relative" /> },
];

export function Tasks() {
  const { at: _at, ...search } = useSearch({ from: "/tasks" });
  const navigate = useNavigate();
  const { pages, items, fresh, refresh } = useTasks(search);
  const [current, setCurrent] = useState(-1);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string | null>(null);
  const [isSubmitting, setSubmitting] = useState(false);

  const open = useCallback(
    (task: TaskBody) => void navigate({ to: "/tasks/$id", params: { id: task.id } }),
    [navigate],
  );
  const select = useCallback(
    (id: string, isRange: boolean) => {
      setSelected((before) => {
        const next = new Set(before);
        const [from, to] = [items.findIndex((task) => task.id === anchor), items.findIndex((task) => task.id === id)];
        if (isRange && from >= 0) {
          for (const task of items.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(task.id);
        } else if (!next.delete(id)) next.add(id);
        return next;
      });
      setAnchor(id);
    },
    [items, anchor],
  );
  const here = items[current];
  useShortcut(
    "down",
    useCallback(() => setCurrent((place) => Math.min(place + 1, items.length - 1)), [items.length]),
  );
  useShortcut(
    "up",
    useCallback(() => setCurrent((place) => Math.max(place - 1, 0)), []),
  );
  useShortcut(
    "open",
    useCallback(() => here && open(here), [here, open]),
  );
  useShortcut(
    "select",
    useCallback(() => here && select(here.id, false), [here, select]),
  );
  useShortcut(
    "all",
    useCallback(() => setSelected(new Set(items.map((task) => task.id))), [items]),
  );
  useShortcut(
    "copyId",
    useCallback(() => {
      if (here) void copy(here.id).then((isDone) => isDone && say("Copied the id"));
    }, [here]),
  );

  const isNarrowed = Object.keys(search).length > 0;
  const onEnd = useCallback(() => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  }, [pages]);
  const tabs = useMemo(
    () =>
      STATUSES.map((status) => ({
        id: status,
        label: status ? status.charAt(0).toUpperCase() + status.slice(1) : "All",
      })),
    [],
  );
  return (
    <div className={css.screen}>
      <ScreenHead title="Tasks">
        {fresh > 0 && (
          <Button icon={ArrowUp} tone="primary" onClick={() => void refresh()}>
            {fresh >= 100 ? "100+" : fresh} new
          </Button>
        )}
        <Button icon={Plus} onClick={() => setSubmitting(true)}>
          Submit
        </Button>
      </ScreenHead>
      <Tabs
        label="Status"
        tabs={tabs}
        current={search.status ?? ""}
        onChange={(status) => void navigate({ to: "/tasks", search: narrowed(search, status) })}
      />
      {selected.size > 0 && (
        <SelectionBar tasks={items.filter((task) => selected.has(task.id))} onDone={() => setSelected(new Set())} />
      )}
      <div className={css.list}>
        {pages.isPending ? (
          <Loading rows={12} />
        ) : pages.isError ? (
          <Trouble error={pages.error} onRetry={() => void pages.refetch()} />
        ) : items.length === 0 ? (
          isNarrowed ? (
            <Empty title="No task matches">
              <Link to="/tasks">All tasks</Link>
            </Empty>
          ) : (
            <FirstTask />
          )
        ) : (
          <Rows
            label="Tasks"
            items={items}
            columns={COLUMNS}
            keyOf={(task) => task.id}
            onOpen={open}
            current={current}
            onCurrent={setCurrent}
            selected={selected}
            onSelect={select}
            onEnd={onEnd}
            more={pages.isFetchingNextPage ? <Loading rows={3} /> : null}
          />
        )}
      </div>
      {isSubmitting && <SubmitSheet onClose={() => setSubmitting(false)} />}
    </div>
  );
}

function narrowed(search: TaskSearch, status: string): TaskSearch {
  const { status: _status, ...rest } = search;
  return status ? { ...rest, status } : rest;
}

function ErrorLine({ task }: { task: TaskBody }) {
  if (!task.error) return null;
  return (
    <span className={css.error} title={task.error.message}>
      {task.error.kind}: {task.error.message}
    </span>
  );
}
