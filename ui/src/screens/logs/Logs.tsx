import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { call } from "@/api/client";
import type { LogLineBody, LogLineList } from "@/api/types";
import { Button } from "@/parts/Button";
import { Filters } from "@/parts/Filters";
import { LineTime } from "@/parts/LogView";
import { LEVEL_CHOICES } from "@/parts/levels";
import { stamped } from "@/parts/lines";
import { ScreenHead } from "@/parts/Panel";
import { Select } from "@/parts/Select";
import { Empty, Loading, Unloaded } from "@/parts/States";
import { Status } from "@/parts/Status";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { TimeRange } from "@/parts/TimeRange";
import type { LogsSearch } from "@/routes";
import { queryFor } from "@/screens/tasks/data";
import { texts } from "@/texts";
import { byTask, type FoundTask, marked } from "./found";
import css from "./Logs.module.css";

const LINES = 100;
const LONGEST_TEXT = 200;

/** Lines of the logs of many tasks. */
export function Logs() {
  const search = useSearch({ from: "/logs" });
  const navigate = useNavigate();
  const { text = "", level = "", ...which } = search;
  const isAsked = text.trim() !== "" || level !== "";
  const found = useInfiniteQuery({
    queryKey: ["logs", search],
    enabled: isAsked,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/logs", {
        query: {
          ...queryFor(which),
          text: text.trim() ? text : undefined,
          level: level ? (level as LogLineBody["level"] & string) : undefined,
          limit: LINES,
          cursor: pageParam,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY, // what was found stays until it is searched for anew
    refetchOnMount: "always",
    refetchOnWindowFocus: false,
  });
  const pages = found.data?.pages;
  const tasks = useMemo(() => byTask(pages?.flatMap((page) => page.items) ?? []), [pages]);
  const isNarrowed = Object.keys(which).length > 0;
  const further = found.hasNextPage && (
    <Button onClick={() => void found.fetchNextPage()} busy={found.isFetchingNextPage}>
      {texts.logs.searchFurther}
    </Button>
  );
  return (
    <>
      <ScreenHead title={texts.common.logs}>
        <TimeRange
          of={search}
          onChange={(times) => {
            const { since: _since, filter: _filter, ...rest } = search;
            void navigate({ to: "/logs", search: { ...rest, ...times } });
          }}
        />
      </ScreenHead>
      <div className={css.box}>
        <Bar
          search={search}
          onSearch={(next) => {
            if (JSON.stringify(next) === JSON.stringify(search)) void found.refetch();
            else void navigate({ to: "/logs", search: next });
          }}
        />
        <Filters to="/logs" search={search} isInside />
        {!isAsked ? (
          <Empty title={texts.logs.searchWhatTasksWrote}>
            <p>{texts.logs.enterATextOrChoose}</p>
            <p>
              {texts.logs.narrowTheTasks} <code>{texts.logs.example}</code>
            </p>
          </Empty>
        ) : pages === undefined ? (
          <Unloaded of={found} rows={8} />
        ) : tasks.length === 0 ? (
          <Empty title={found.hasNextPage ? texts.logs.noMatchesSoFar : texts.logs.noLineMatches}>
            <p role="status">
              <HowFar pages={pages} /> {found.hasNextPage && texts.logs.more}
            </p>
            {further ||
              (isNarrowed && (
                <Link to="/logs" search={soughtOf(search)}>
                  {texts.logs.removeTheFilters}
                </Link>
              ))}
          </Empty>
        ) : (
          <>
            <p className={css.sum} role="status">
              {texts.logs.lines(
                tasks.reduce((sum, task) => sum + task.lines.length, 0),
                new Set(tasks.map((task) => task.id)).size,
              )}
            </p>
            <ul className={css.tasks} aria-label={texts.logs.results}>
              {tasks.map((task) => (
                <li key={`${task.id}.${task.lines[0]?.line}`}>
                  <Found task={task} text={text} />
                </li>
              ))}
            </ul>
            {found.isFetchingNextPage && <Loading rows={3} />}
            <footer className={css.foot}>
              <p>
                <HowFar pages={pages} />
              </p>
              {further}
            </footer>
          </>
        )}
      </div>
    </>
  );
}

function soughtOf({ text, level }: LogsSearch): LogsSearch {
  return { ...(text ? { text } : {}), ...(level ? { level } : {}) };
}

/** What to search for. */
function Bar({ search, onSearch }: { search: LogsSearch; onSearch: (search: LogsSearch) => void }) {
  const [text, setText] = useState(search.text ?? "");
  useEffect(() => setText(search.text ?? ""), [search.text]);

  function go(level: string) {
    const { text: _text, level: _level, ...which } = search;
    onSearch({ ...which, ...soughtOf({ text: text.trim() ? text : "", level }) });
  }

  return (
    <form
      className={css.bar}
      onSubmit={(event) => {
        event.preventDefault();
        go(search.level ?? "");
      }}
    >
      <input
        type="search"
        aria-label={texts.logs.textInLogs}
        placeholder={texts.logs.textInLogs}
        value={text}
        maxLength={LONGEST_TEXT}
        onChange={(event) => setText(event.target.value)}
        spellCheck={false}
        autoComplete="off"
      />
      <Select aria-label={texts.parts.level} value={search.level ?? ""} choices={LEVEL_CHOICES} onChange={go} />
      <Button type="submit" icon={Search} tone="primary">
        {texts.logs.search}
      </Button>
    </form>
  );
}

/** How much was searched, and up to when. */
function HowFar({ pages }: { pages: LogLineList[] }): ReactNode {
  const count = pages.reduce((sum, page) => sum + page.tasks, 0);
  const backTo = pages.at(-1)?.back_to;
  if (!backTo) return texts.logs.searchedAll(count);
  return <TextWith text={texts.logs.searchedBackTo(count)} values={{ time: <Time at={backTo} /> }} />;
}

/** The lines of a task. */
function Found({ task, text }: { task: FoundTask; text: string }) {
  return (
    <article className={css.task}>
      <h2>
        <Status of={task.status} small />
        <Link to="/tasks/$id" params={{ id: task.id }} search={{ tab: "log" }}>
          {task.name}
        </Link>
        <span>{task.queue}</span>
        <code>{task.id}</code>
      </h2>
      <ol className={css.lines}>
        {task.lines.map((line) => (
          <li key={line.line} className={css.line} data-level={line.level ?? undefined}>
            <Link
              to="/tasks/$id"
              params={{ id: task.id }}
              search={{ tab: "log", line: `L${line.line}` }}
              aria-label={texts.logs.lineOfTask(line.line, task.name)}
            >
              {line.line}
            </Link>
            <code>
              <Marked line={line.text} text={text} />
            </code>
            {task.isOfSeveral && line.attempt !== null && (
              <span className={css.attempt}>{texts.logs.attempt(line.attempt)}</span>
            )}
          </li>
        ))}
      </ol>
    </article>
  );
}

/** A line with what was searched for, and its time in the zone that the person has chosen, unless it was that. */
function Marked({ line, text }: { line: string; text: string }) {
  const [at, rest] = stamped(line);
  const isInStamp = text !== "" && !rest.toLowerCase().includes(text.toLowerCase());
  return (
    <>
      {at && !isInStamp && <LineTime at={at} />}
      {marked(isInStamp ? line : rest, text).map((piece, place) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
        piece.isFound ? <mark key={place}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}
