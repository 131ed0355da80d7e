import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import type { TaskList } from "@/api/types";
import { useMedia } from "@/parts/media";
import { say } from "@/parts/toasts";
import type { LogsSearch } from "@/routes";
import { FIELDS, JOB_STATUSES, parseSearch, STATUSES, type Subject, type TaskSearch, writeSearch } from "@/search";
import { texts } from "@/texts";
import css from "./SearchBox.module.css";
import { onShortcut } from "./shortcuts";

const PLACEHOLDERS: Record<Subject, string> = {
  tasks: texts.shell.statusFailedNameChargePayload,
  jobs: texts.shell.statusFailedNameNightlyDuration,
  failures: texts.shell.errorTimeoutQueueBulkCount,
  logs: texts.shell.tasksWhoseLogsAreSearched,
};

/** The list that is shown, which the box is about; tasks on all other pages. */
function subjectOf(path: string): Subject {
  if (path.endsWith("/jobs")) return "jobs";
  if (path.endsWith("/logs")) return "logs";
  return path.endsWith("/failures") ? "failures" : "tasks";
}

/** One box for everything: terms narrow the list that is shown, an id opens its task. */
export function SearchBox() {
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const subject = subjectOf(location.pathname);
  useEffect(() => {
    const search = location.search as TaskSearch;
    if (location.pathname.endsWith("/tasks") || subject === "logs") setText(writeSearch(search));
    else setText(subject === "tasks" ? "" : (search.filter ?? ""));
  }, [location, subject]);
  useEffect(() => onShortcut("search", () => input.current?.focus()), []);

  const last = text.split(/\s+/).at(-1) ?? "";
  const offered = useOffers(last, isOpen, subject);
  const isNarrow = useMedia("(max-width: 760px)");
  const label = subject === "logs" ? texts.shell.filterTasks : texts.shell.searchSubject(subject);

  function take(offer: Offer) {
    const start = text.slice(0, text.length - last.length);
    setText(`${start}${offer.text}${/[:<>.]$/.test(offer.text) ? "" : " "}`);
    setChosen(-1);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const offer = offered[chosen];
    if (event.key === "Escape") input.current?.blur();
    else if (step && isOpen && offered.length > 0) {
      event.preventDefault();
      setChosen((chosen + step + offered.length) % offered.length);
    } else if ((event.key === "Enter" || event.key === "Tab") && isOpen && offer) {
      event.preventDefault();
      take(offer);
    }
  }

  function go() {
    const { search, id, notes } = parseSearch(text);
    const filter = text.trim() ? { filter: text.trim() } : {};
    if (id) void navigate({ to: "/tasks/$id", params: { id } });
    else if (subject === "jobs") void navigate({ to: "/jobs", search: (now) => ({ ...without(now), ...filter }) });
    else if (subject === "failures")
      void navigate({ to: "/failures", search: (now) => ({ ...without(now), ...filter }) });
    else {
      for (const note of notes) say(note, "problem");
      if (subject === "logs") void navigate({ to: "/logs", search: (now) => ({ ...soughtOf(now), ...search }) });
      else void navigate({ to: "/tasks", search });
    }
    setOpen(false);
    input.current?.blur();
  }

  return (
    <form
      className={css.search}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <Search size={15} aria-hidden="true" />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={isNarrow ? label : PLACEHOLDERS[subject]}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(-1);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={onKeyDown}
        spellCheck={false}
        autoComplete="off"
      />
      <kbd>/</kbd>
      {isOpen && offered.length > 0 && (
        <ul className={css.offers} aria-label={texts.common.filters}>
          {offered.map((offer, place) => (
            <li key={offer.text}>
              <button
                type="button"
                tabIndex={-1}
                data-current={place === chosen || undefined}
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(offer);
                }}
              >
                <code>{offer.text}</code> <span>{offer.hint}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

interface Offer {
  text: string;
  hint: string;
}

const MOST_OFFERS = 9;
const QUOTED = /[\s",*]/;

function without<T extends { filter?: string }>(search: T): Omit<T, "filter"> {
  const { filter: _filter, ...rest } = search;
  return rest;
}

/** The text and the level that logs are searched for, whatever their tasks are. */
function soughtOf({ text, level }: { text?: string; level?: string }): LogsSearch {
  return { ...(text ? { text } : {}), ...(level ? { level } : {}) };
}

/** What may be meant by what somebody has begun to type: fields, and after a colon their values. */
function useOffers(last: string, isOpen: boolean, subject: Subject): Offer[] {
  const client = useQueryClient();
  const options = { enabled: isOpen, staleTime: 30_000, retry: false };
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => call("GET /api/v1/queues", {}), ...options }).data;
  const types = useQuery({ queryKey: ["types"], queryFn: () => call("GET /api/v1/types", {}), ...options }).data;
  const [, sign = "", word = "", colon, begun = ""] = /^(-?)([\w.]*)(:)?(.*)$/.exec(last) ?? [];
  if (!colon) {
    return FIELDS[subject]
      .filter(([text]) => !begun && text.startsWith(word))
      .slice(0, word ? MOST_OFFERS : FIELDS[subject].length)
      .map(([text, hint]) => ({ text: `${sign}${text}`, hint }));
  }
  const tags = () => {
    const lists = client.getQueriesData<InfiniteData<TaskList>>({ queryKey: ["tasks", "list"] });
    const pages = lists.flatMap(([, list]) => list?.pages ?? []);
    return [...new Set(pages.flatMap((page) => page.items.flatMap((task) => task.tags)))].sort();
  };
  const values: Record<string, () => string[]> = {
    status: () => (subject === "jobs" ? JOB_STATUSES : STATUSES),
    queue: () => queues?.items.map((queue) => queue.name) ?? [],
    name: () => (subject === "jobs" ? [] : (types?.items.map((type) => type.name) ?? [])),
    tag: tags,
  };
  const [, before = "", value = ""] = /^(.*,)?([^,]*)$/.exec(begun) ?? [];
  return (values[word]?.() ?? [])
    .filter((one) => one.toLowerCase().includes(value.toLowerCase()) && one !== value)
    .slice(0, MOST_OFFERS)
    .map((one) => ({ text: `${sign}${word}:${before}${QUOTED.test(one) ? JSON.stringify(one) : one}`, hint: "" }));
}
