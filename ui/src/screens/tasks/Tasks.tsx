import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowUp, Plus } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { useMay } from "@/api/me";
import type { TaskBody } from "@/api/types";
import { attemptWords } from "@/parts/attempts";
import { Button } from "@/parts/Button";
import { Columns } from "@/parts/Columns";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { searchSnippets } from "@/parts/createSnippets";
import { Filters } from "@/parts/Filters";
import { useRemembered } from "@/parts/neighbours";
import { ScreenHead } from "@/parts/Panel";
import { type Column, Rows } from "@/parts/Rows";
import { SavedViews } from "@/parts/SavedViews";
import { Empty, Loading, Unloaded } from "@/parts/States";
import { Status, shownStatus, statusWord } from "@/parts/Status";
import { useSorted } from "@/parts/sorting";
import { payloadLine } from "@/parts/summary";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time, Took } from "@/parts/Time";
import { TimeRange } from "@/parts/TimeRange";
import { tookMs } from "@/parts/time";
import { useHidden } from "@/preferences";
import { frozen, parseSearch, type TaskSearch, writeSearch } from "@/search";
import { texts } from "@/texts";
import { BulkStrip } from "./BulkStrip";
import { useCounts, useTasks } from "./data";
import { Export } from "./Export";
import { FirstTask } from "./FirstTask";
import { SelectionBar } from "./SelectionBar";
import { useSelection } from "./selection";
import css from "./Tasks.module.css";

const SubmitSheet = lazy(() => import("./SubmitSheet").then((found) => ({ default: found.SubmitSheet })));

const STATUSES = ["", "pending", "queued", "processing", "completed", "failed", "cancelled", "skipped"];

const COLUMNS: Column<TaskBody>[] = [
  { name: texts.common.status, width: "118px", cell: (task) => <Status of={shownStatus(task)} small /> },
  {
    name: texts.common.name,
    width: "minmax(130px, 2.4fr)",
    by: (task) => task.name,
    cell: (task) => (
      <>
        <Link to="/tasks/$id" params={{ id: task.id }} className={css.name ?? ""}>
          {task.name}
        </Link>
        <span className={css.under}>{task.error ? <ErrorLine task={task} /> : task.queue}</span>
      </>
    ),
  },
  {
    name: texts.common.queue,
    width: "minmax(70px, 1.2fr)",
    wide: true,
    by: (task) => task.queue,
    cell: (task) => task.queue,
  },
  { name: texts.common.tags, width: "minmax(72px, 1.4fr)", wide: true, cell: (task) => <Tags of={task.tags} isLine /> },
  {
    name: texts.common.payload,
    width: "minmax(0, 5fr)",
    wide: true,
    isExtra: true,
    cell: (task) => <PayloadLine payload={task.payload} />,
  },
  { name: texts.tasks.error, width: "minmax(0, 5fr)", wide: true, cell: (task) => <ErrorLine task={task} /> },
  {
    name: texts.common.attempt,
    width: "64px",
    wide: true,
    end: true,
    by: (task) => task.attempt,
    cell: (task) => attemptWords(task.attempt, task.retries),
  },
  {
    name: texts.common.duration,
    width: "86px",
    wide: true,
    end: true,
    by: (task) => tookMs(task),
    cell: (task) => <Took from={task.started_at} to={task.finished_at} />,
  },
  {
    name: texts.common.created,
    width: "110px",
    end: true,
    by: (task) => task.created_at,
    cell: (task) => <Time at={task.created_at} as="relative" />,
  },
];

export function Tasks() {
  const { at: _at, sort: order, ...search } = useSearch({ from: "/tasks" });
  const kept = order ? { sort: order } : {};
  const navigate = useNavigate();
  const withPayload = !useHidden(texts.common.tasks, COLUMNS).includes(texts.common.payload);
  const { pages, items: loaded, fresh, refresh } = useTasks(search, withPayload);
  const { shown: items, sort, onSort } = useSorted(loaded, COLUMNS, idOf);
  const counts = useCounts(search);
  useRemembered(
    "/tasks",
    useMemo(() => items.map((task) => task.id), [items]),
  );
  const [isSubmitting, setSubmitting] = useState(false);
  const [begun, setBegun] = useState<string | null>(null);
  const open = useCallback(
    (task: TaskBody) => void navigate({ to: "/tasks/$id", params: { id: task.id } }),
    [navigate],
  );
  const { current, setCurrent, selected, select, allAt, takeAll, none } = useSelection(items);
  const isAll = allAt !== null;
  const maySubmit = useMay("tasks:submit");
  const mayAct = useMay("tasks:control");

  const onEnd = useCallback(() => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  }, [pages]);
  const tabs = STATUSES.map((status) => ({
    id: status,
    label: status ? statusWord(status.toUpperCase()) : texts.common.all,
    count: status ? counts[status] : undefined,
  }));
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.common.tasks}>
        {fresh > 0 && (
          <Button icon={ArrowUp} tone="quiet" className={css.fresh} onClick={() => void refresh()}>
            {texts.tasks.fresh(fresh >= 100 ? "100+" : String(fresh))}
          </Button>
        )}
        <TimeRange
          of={search}
          onChange={(times) => {
            const { since: _since, filter: _filter, ...rest } = search;
            void navigate({ to: "/tasks", search: { ...rest, ...times, ...kept } });
          }}
        />
        <SavedViews
          page="tasks"
          filter={writeSearch(search)}
          label={texts.common.tasks}
          columns={COLUMNS}
          onOpen={(text) => void navigate({ to: "/tasks", search: parseSearch(text).search })}
        />
        <Export search={search} />
        <CopyAs title={texts.tasks.listTheseTasks} of={() => searchSnippets(serverUrl(), search)} />
        <Columns label={texts.common.tasks} columns={COLUMNS} />
        {maySubmit && (
          <Button icon={Plus} tone="primary" onClick={() => setSubmitting(true)}>
            {texts.tasks.submit}
          </Button>
        )}
      </ScreenHead>
      <Tabs
        label={texts.common.status}
        tabs={tabs}
        current={search.status ?? ""}
        onChange={(status) => {
          none();
          void navigate({ to: "/tasks", search: { ...narrowed(search, status), ...kept } });
        }}
      />
      <Filters to="/tasks" search={{ ...search, ...kept }} />
      {mayAct && (selected.size > 0 || isAll) && (
        <SelectionBar
          tasks={isAll ? null : items.filter((task) => selected.has(task.id))}
          chosen={{ search: allAt === null ? search : frozen(search, allAt) }}
          matching={search.status ? (counts[search.status] ?? "") : ""}
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
            <NoMatch isPartial={pages.hasNextPage} isBusy={pages.isFetchingNextPage} onMore={onEnd} />
          ) : (
            <FirstTask />
          )
        ) : (
          <Rows
            label={texts.common.tasks}
            items={items}
            columns={COLUMNS}
            keyOf={idOf}
            sort={sort}
            onSort={onSort}
            onOpen={open}
            isTall
            current={current}
            onCurrent={setCurrent}
            {...(mayAct ? { selected: isAll ? ALL : selected, onSelect: select } : {})}
            onEnd={onEnd}
            more={pages.isFetchingNextPage ? <Loading rows={3} /> : null}
          />
        )}
      </div>
      {isSubmitting && (
        <Suspense>
          <SubmitSheet onClose={() => setSubmitting(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** Nothing was found: so far, or at all. */
function NoMatch({ isPartial, isBusy, onMore }: { isPartial: boolean; isBusy: boolean; onMore: () => void }) {
  if (!isPartial) {
    return (
      <Empty title={texts.tasks.noTasksMatch}>
        <Link to="/tasks">{texts.tasks.allTasks}</Link>
      </Empty>
    );
  }
  return (
    <Empty title={texts.tasks.noMatchesSoFar}>
      <p>{texts.tasks.theNewestTasksWereSearched}</p>
      <Button onClick={onMore} busy={isBusy}>
        {texts.tasks.searchFurther}
      </Button>
    </Empty>
  );
}

function idOf(task: TaskBody): string {
  return task.id;
}

function PayloadLine({ payload }: { payload: unknown }) {
  const line = payloadLine(payload);
  return line ? (
    <span className={css.payload} title={line}>
      {line}
    </span>
  ) : null;
}

/** A set with everything in it: all that match. */
const ALL = { has: () => true } as unknown as ReadonlySet<string>;

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
