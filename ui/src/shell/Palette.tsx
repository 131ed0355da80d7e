import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  BellRing,
  Blocks,
  CalendarClock,
  CircleX,
  GitFork,
  ListChecks,
  Rows3,
  Search,
  Server,
  Wrench,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { call } from "@/api/client";
import { live } from "@/api/live";
import { useMay } from "@/api/me";
import { useModal } from "@/parts/modal";
import { workerName } from "@/parts/worker";
import { currentPreferences, prefer } from "@/preferences";
import { parseSearch, type TaskSearch } from "@/search";
import { texts } from "@/texts";
import css from "./Palette.module.css";
import { type Act, useActsAnywhere, useActsHere, useActsOnOther } from "./paletteActs";
import { type Place, usePlaces } from "./places";

type Entry = Act;

const MOST = 40;
const NONE: never[] = [];
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Everything by name: places, queues, types, schedules, jobs, and what can be switched. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const entries = useEntries(text, onHelp);
  const current = entries[Math.min(place, entries.length - 1)];
  useModal(dialog);
  useEffect(() => {
    document.getElementById(`palette-${current?.id}`)?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  function choose(entry: Entry | undefined) {
    if (!entry) return;
    onClose();
    entry.go();
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) setPlace((Math.min(place, entries.length - 1) + step + entries.length) % Math.max(1, entries.length));
    else if (event.key === "Enter") choose(current);
    else return;
    event.preventDefault();
  }

  return (
    <dialog
      ref={dialog}
      className={css.palette}
      aria-label={texts.shell.commandMenuOther}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      onKeyDown={onKeyDown}
    >
      <div className={css.field}>
        <Search size={16} aria-hidden="true" />
        <input
          role="combobox"
          aria-label={texts.shell.commandMenuOther}
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={current ? `palette-${current.id}` : undefined}
          placeholder={texts.shell.searchPagesQueuesTaskTypes}
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => {
            setText(event.target.value);
            setPlace(0);
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <div id="palette-list" role="listbox" aria-label={texts.shell.commands} className={css.list}>
        {entries.map((entry) => (
          <div
            key={entry.id}
            id={`palette-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={entry === current}
            onMouseMove={() => setPlace(entries.indexOf(entry))}
            onClick={() => choose(entry)}
            onKeyDown={onKeyDown}
          >
            <entry.icon size={15} aria-hidden="true" />
            <span>{entry.text}</span>
            <small>{entry.hint}</small>
          </div>
        ))}
        {entries.length === 0 && <p>{texts.shell.noMatches}</p>}
      </div>
    </dialog>
  );
}

function useEntries(text: string, onHelp: () => void): Entry[] {
  const things = useThings();
  const here = useActsHere();
  const onOther = useActsOnOther();
  const navigate = useNavigate();
  const places = usePlaces();
  return useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const words = wanted.split(/\s+/).filter(Boolean);
    const entries = [...here, ...onOther, ...fixed(navigate, places, onHelp), ...things];
    const found = entries.filter((entry) => {
      const name = `${entry.text} ${entry.hint}`.toLowerCase();
      return words.every((word) => name.includes(word));
    });
    return [...typed(text.trim(), navigate), ...found].slice(0, MOST);
  }, [text, things, here, onOther, navigate, places, onHelp]);
}

/** What the text itself may mean: an id, or a search. */
function typed(text: string, navigate: ReturnType<typeof useNavigate>): Entry[] {
  if (ID.test(text)) {
    const id = text.toLowerCase();
    return [
      {
        id: "task",
        icon: ListChecks,
        text: texts.shell.openThisTask,
        hint: id,
        go: () => void navigate({ to: "/tasks/$id", params: { id } }),
      },
      {
        id: "job",
        icon: GitFork,
        text: texts.shell.openThisJob,
        hint: id,
        go: () => void navigate({ to: "/jobs/$id", params: { id } }),
      },
    ];
  }
  const { search, notes } = parseSearch(text);
  if (!text.includes(":") || notes.length > 0) return [];
  return [
    {
      id: "search",
      icon: Search,
      text: texts.shell.searchTasks,
      hint: text,
      go: () => void navigate({ to: "/tasks", search }),
    },
  ];
}

function fixed(navigate: ReturnType<typeof useNavigate>, places: readonly Place[], onHelp: () => void): Entry[] {
  const tasks = (id: string, words: string, search: TaskSearch): Entry => ({
    id,
    icon: ListChecks,
    text: words,
    hint: texts.shell.tasks,
    go: () => void navigate({ to: "/tasks", search }),
  });
  const act = (id: string, words: string, go: () => void): Entry => ({
    id,
    icon: Wrench,
    text: words,
    hint: texts.shell.command,
    go,
  });
  return [
    ...places.map((one) => ({
      id: `place${one.to.replace("/", "-")}`,
      icon: one.icon,
      text: one.label,
      hint: `g ${one.key}`,
      go: () => void navigate({ to: one.to }),
    })),
    tasks("failed", texts.shell.failedTasks, { status: "failed" }),
    tasks("running", texts.shell.runningTasks, { status: "processing" }),
    act("pause", live.state.kind === "paused" ? texts.shell.resumeLiveChanges : texts.shell.pauseLiveChanges, () =>
      live.togglePause(),
    ),
    act("zone", texts.shell.switchBetweenUtcAndLocal, () =>
      prefer({ zone: currentPreferences().zone === "utc" ? "local" : "utc" }),
    ),
    act("light", texts.shell.themeLight, () => prefer({ theme: "light" })),
    act("dark", texts.shell.themeDark, () => prefer({ theme: "dark" })),
    act("system", texts.shell.themeAsTheSystem, () => prefer({ theme: "system" })),
    act("help", texts.shell.keyboardShortcuts, onHelp),
  ];
}

/** What there is on the server, by name. A key that may not see something simply does not find it. */
function useThings(): Entry[] {
  const navigate = useNavigate();
  const options = { staleTime: 30_000, retry: false };
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => call("GET /api/v1/queues", {}), ...options }).data;
  const types = useQuery({ queryKey: ["types"], queryFn: () => call("GET /api/v1/types", {}), ...options }).data;
  const schedules = useQuery({
    queryKey: ["schedules", "palette"],
    queryFn: () => call("GET /api/v1/schedules", { query: { limit: 200 } }),
    ...options,
  }).data;
  const jobs = useQuery({
    queryKey: ["jobs", "palette"],
    queryFn: () => call("GET /api/v1/jobs", { query: { limit: 50 } }),
    ...options,
  }).data;
  const [mayAlerts, mayWorkers, mayFailures] = [useMay("alerts:read"), useMay("workers:read"), useMay("tasks:read")];
  const alerts = useQuery({
    queryKey: ["alerts", "list"],
    queryFn: () => call("GET /api/v1/alerts", { query: { limit: 200 } }),
    enabled: mayAlerts,
    ...options,
  }).data;
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: () => call("GET /api/v1/workers", {}),
    enabled: mayWorkers,
    ...options,
  }).data;
  const groups = useQuery({
    queryKey: ["failures", "count"],
    queryFn: () => call("GET /api/v1/failures/groups", { query: { limit: 50, state: "active" } }),
    enabled: mayFailures,
    ...options,
  }).data;
  const acts = useActsAnywhere(queues?.items ?? NONE, schedules?.items ?? NONE);
  return useMemo(
    () => [
      ...(queues?.items ?? []).map((queue, place) => ({
        id: `queue-${place}`,
        icon: Rows3,
        text: queue.name,
        hint: texts.shell.queueWord,
        go: () => void navigate({ to: "/queues/$name", params: { name: queue.name } }),
      })),
      ...(types?.items ?? []).map((type, place) => ({
        id: `type-${place}`,
        icon: Blocks,
        text: type.name,
        hint: texts.shell.typeWord,
        go: () => void navigate({ to: "/types/$name", params: { name: type.name } }),
      })),
      ...(schedules?.items ?? []).map((schedule, place) => ({
        id: `schedule-${place}`,
        icon: CalendarClock,
        text: schedule.name,
        hint: texts.shell.schedule,
        go: () => void navigate({ to: "/schedules/$id", params: { id: schedule.id } }),
      })),
      ...(jobs?.items ?? []).map((job, place) => ({
        id: `job-${place}`,
        icon: GitFork,
        text: job.name,
        hint: texts.shell.jobValue(job.status.toLowerCase()),
        go: () => void navigate({ to: "/jobs/$id", params: { id: job.id } }),
      })),
      ...(alerts?.items ?? []).map((alert, place) => ({
        id: `alert-${place}`,
        icon: BellRing,
        text: alert.name,
        hint: texts.shell.alertWord,
        go: () => void navigate({ to: "/alerts/$id", params: { id: alert.id } }),
      })),
      ...(workers?.items ?? []).map((worker, place) => ({
        id: `worker-${place}`,
        icon: Server,
        text: workerName(worker),
        hint: texts.shell.workerWord,
        go: () => void navigate({ to: "/workers/$id", params: { id: worker.id } }),
      })),
      ...(groups?.items ?? []).map((group, place) => ({
        id: `group-${place}`,
        icon: CircleX,
        text: texts.shell.causeOf(group.kind, group.message),
        hint: texts.shell.failureGroup,
        go: () => void navigate({ to: "/failures/$fingerprint", params: { fingerprint: group.fingerprint } }),
      })),
      ...acts, // last: who types a name and presses Enter goes there, and changes nothing
    ],
    [acts, queues, types, schedules, jobs, alerts, workers, groups, navigate],
  );
}
