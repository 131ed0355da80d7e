import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowUp, Plus, X } from "lucide-react";
import { useCallback, useState } from "react";
import { useMay } from "@/api/me";
import type { TaskBody } from "@/api/types";
import { attemptWords } from "@/parts/attempts";
import { Button } from "@/parts/Button";
import { ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { Empty, Loading, Unloaded } from "@/parts/States";
import { Status, statusWord } from "@/parts/Status";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time, Took } from "@/parts/Time";
import { isRelative, type TaskSearch, WORDS } from "@/search";
import { BulkStrip } from "./BulkStrip";
import { useCounts, useTasks } from "./data";
import { FirstTask } from "./FirstTask";
import { SelectionBar } from "./SelectionBar";
import { SubmitSheet } from "./SubmitSheet";
import { useSelection } from "./selection";
import css from "./Tasks.module.css";
import { TimeRange } from "./TimeRange";
import { Views } from "./Views";

const STATUSES = ["", "pending", "queued", "processing", "completed", "failed", "cancelled", "skipped"];

const COLUMNS: Column<TaskBody>[] = [
  { name: "Status", width: "118px", cell: (task) => <Status of={task.status} small /> },
  {
    name: "Name",
    width: "minmax(140px, 3fr)",
    cell: (task) => (
      <Link to="/tasks/$id" params={{ id: task.id }} className={css.name ?? ""}>
        {task.name}
      </Link>
    ),
  },
  { name: "Error", width: "minmax(0, 5fr)", wide: true, cell: (task) => <ErrorLine task={task} /> },
  { name: "Queue", width: "minmax(70px, 2fr)", wide: true, cell: (task) => task.queue },
  { name: "Tags", width: "minmax(0, 2fr)", wide: true, cell: (task) => <Tags of={task.tags} /> },
  { name: "Attempt", width: "64px", wide: true, end: true, cell: (task) => attemptWords(task.attempt, task.retries) },
  {
    name: "Duration",
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
  const counts = useCounts(search);
  const [isSubmitting, setSubmitting] = useState(false);
  const [begun, setBegun] = useState<string | null>(null);
  const open = useCallback(
    (task: TaskBody) => void navigate({ to: "/tasks/$id", params: { id: task.id } }),
    [navigate],
  );
  const { current, setCurrent, selected, select, isAll, takeAll, none } = useSelection(
    items,
    open,
    !isRelative(search),
  );
  const maySubmit = useMay("tasks:submit");
  const mayAct = useMay("tasks:control");

  const onEnd = useCallback(() => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  }, [pages]);
  const tabs = STATUSES.map((status) => ({
    id: status,
    label: status ? statusWord(status.toUpperCase()) : "All",
    count: status ? counts[status] : undefined,
  }));
  return (
    <div className={css.screen}>
      <ScreenHead title="Tasks">
        {fresh > 0 && (
          <Button icon={ArrowUp} tone="primary" onClick={() => void refresh()}>
            {fresh >= 100 ? "100+" : fresh} new
          </Button>
        )}
        <TimeRange
          value={search.since}
          onChange={(since) => {
            const { since: _since, ...rest } = search;
            void navigate({ to: "/tasks", search: since ? { ...rest, since } : rest });
          }}
        />
        <Views search={search} />
        {maySubmit && (
          <Button icon={Plus} onClick={() => setSubmitting(true)}>
            Submit
          </Button>
        )}
      </ScreenHead>
      <Tabs
        label="Status"
        tabs={tabs}
        current={search.status ?? ""}
        onChange={(status) => {
          none();
          void navigate({ to: "/tasks", search: narrowed(search, status) });
        }}
      />
      <Filters search={search} />
      {mayAct && (selected.size > 0 || isAll) && (
        <SelectionBar
          tasks={isAll ? null : items.filter((task) => selected.has(task.id))}
          chosen={{ search }}
          matching={
            isRelative(search)
              ? `${items.length.toLocaleString("en")} loaded`
              : search.status
                ? (counts[search.status] ?? "")
                : ""
          }
          onAll={takeAll}
          onNone={none}
          onBegun={(bulk) => {
            none();
            setBegun(bulk.id);
          }}
        />
      )}
      {begun && <BulkStrip id={begun} onClose={() => setBegun(null)} />}
      <div className={css.list}>
        {pages.data === undefined ? (
          <Unloaded of={pages} rows={12} />
        ) : items.length === 0 ? (
          Object.keys(search).length > 0 ? (
            <Empty title="No tasks match">
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
            {...(mayAct ? { selected: isAll ? ALL : selected, onSelect: select } : {})}
            onEnd={onEnd}
            more={pages.isFetchingNextPage ? <Loading rows={3} /> : null}
          />
        )}
      </div>
      {isSubmitting && <SubmitSheet onClose={() => setSubmitting(false)} />}
    </div>
  );
}

/** A set with everything in it: all that match. */
const ALL = { has: () => true } as unknown as ReadonlySet<string>;

/** What the list is narrowed by besides the status, each with a way out. */
function Filters({ search }: { search: TaskSearch }) {
  const words = WORDS.filter((word) => word !== "status" && search[word]);
  if (words.length === 0) return null;
  return (
    <ul className={css.filters} aria-label="Narrowed by">
      {words.map((word) => {
        const { [word]: value, ...rest } = search;
        return (
          <li key={word}>
            <span>
              {word}: <strong>{value}</strong>
            </span>
            <Link to="/tasks" search={rest} aria-label={`No longer by ${word}`} title="Remove">
              <X size={13} aria-hidden="true" />
            </Link>
          </li>
        );
      })}
    </ul>
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
