import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import {
  Ban,
  BellOff,
  BellRing,
  CalendarPlus,
  Check,
  CheckCheck,
  type LucideIcon,
  Pause,
  Play,
  RotateCcw,
  Zap,
} from "lucide-react";
import { useMemo } from "react";
import { call } from "@/api/client";
import { useMay, useMayOn, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import type { AlertBody, GroupBody, JobBody, QueueBody, QueueDetails, ScheduleBody, TaskBody } from "@/api/types";
import { problemText } from "@/parts/act";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import { doShortcut, type Shortcut } from "./shortcuts";

/** Something that the command menu can do. */
export interface Act {
  id: string;
  icon: LucideIcon;
  text: string;
  hint: string;
  go: () => void;
}

const ENDED = new Set(["COMPLETED", "FAILED", "CANCELLED", "SKIPPED"]);

/** What can be done with the task or job of this page: what its buttons and keys do. */
export function useActsHere(): Act[] {
  const [kind = "", id = ""] = useRouterState({
    select: (state) => state.location.pathname.split("/").filter(Boolean).slice(-2),
    structuralSharing: true,
  });
  const client = useQueryClient();
  const task = kind === "tasks" ? client.getQueryData<TaskBody>(["task", id]) : undefined;
  const job = kind === "jobs" ? client.getQueryData<JobBody>(["job", id]) : undefined;
  const mayTask = useMayOn("tasks:control", task ?? { name: "", queue: "" });
  const mayJob = useMay("tasks:control");
  return useMemo(() => {
    const one = task && mayTask ? { what: "task", ...task } : job && mayJob ? { what: "job", ...job } : null;
    if (!one) return [];
    const isEnded = ENDED.has(one.status);
    const again = one.what === "job" ? texts.common.resume : texts.common.retry;
    const acts: Act[] = [];
    if (isEnded && one.status !== "COMPLETED") {
      acts.push({
        id: "retry-this",
        icon: RotateCcw,
        text: texts.shell.actOnThis(again, one.what),
        hint: one.name,
        go: () => doShortcut("retry"),
      });
    }
    if (!isEnded) {
      acts.push({
        id: "cancel-this",
        icon: Ban,
        text: texts.shell.actOnThis(texts.common.cancel, one.what),
        hint: one.name,
        go: () => doShortcut("cancel"),
      });
    }
    return acts;
  }, [task, job, mayTask, mayJob]);
}

/** What can be done with the failure group, alert, schedule or queue of this page. */
export function useActsOnOther(): Act[] {
  const [kind = "", given = ""] = useRouterState({
    select: (state) => state.location.pathname.split("/").filter(Boolean).slice(-2),
    structuralSharing: true,
  });
  const client = useQueryClient();
  const me = useMe();
  const mayGroups = useMay("tasks:control");
  const mayAlerts = useMay("alerts:write");
  const maySchedules = useMay("schedules:write");
  const mayQueues = useMay("queues:control");
  const id = decodeURIComponent(given);
  const read = <Thing>(ofKind: string, may: boolean, ...key: string[]) =>
    kind === ofKind && may ? client.getQueryData<Thing>([...key, id]) : undefined;
  const group = read<GroupBody>("failures", mayGroups, "failures", "group");
  const alert = read<AlertBody>("alerts", mayAlerts, "alerts", "one");
  const schedule = read<ScheduleBody>("schedules", maySchedules, "schedule");
  const queue = read<QueueDetails>("queues", mayQueues && isAmong(id, me?.queues ?? []), "queue")?.queue;
  return useMemo(() => {
    const act = (does: Shortcut, icon: LucideIcon, words: string, what: string, hint: string): Act => ({
      id: `${does}-this`,
      icon,
      text: texts.shell.actOnThis(words, what),
      hint,
      go: () => doShortcut(does),
    });
    const acts: Act[] = [];
    if (group) {
      const isOpen = group.state === "open" || group.state === "regressed";
      if (isOpen) acts.push(act("acknowledge", Check, texts.failures.acknowledge, "group", group.kind));
      if (group.state !== "resolved")
        acts.push(act("resolve", CheckCheck, texts.failures.resolve, "group", group.kind));
    }
    if (alert) {
      const [icon, words] = alert.muted_until ? [BellRing, texts.alerts.unmute] : [BellOff, texts.alerts.mute];
      acts.push(act("mute", icon, words, "alert", alert.name));
    }
    if (schedule) acts.push(act("run", Zap, texts.common.run, "schedule", schedule.name));
    if (queue) {
      const [icon, words] = queue.is_paused ? [Play, texts.common.resume] : [Pause, texts.common.pause];
      acts.push(act("pause", icon, words, "queue", queue.name));
    }
    return acts;
  }, [group, alert, schedule, queue]);
}

/** What can be done anywhere: pause and resume queues and schedules, run a schedule, make a new one. */
export function useActsAnywhere(queues: QueueBody[], schedules: ScheduleBody[]): Act[] {
  const client = useQueryClient();
  const navigate = useNavigate();
  const mayQueues = useMay("queues:control");
  const maySchedules = useMay("schedules:write");
  return useMemo(() => {
    const act = (done: string, keys: unknown[][], ask: () => Promise<unknown>) => () =>
      void ask()
        .then(
          () => say(done),
          (error: unknown) => say(problemText(error), "problem"),
        )
        .finally(() => keys.map((queryKey) => client.invalidateQueries({ queryKey })));
    const ofQueue = (queue: QueueBody, place: number): Act => {
      const { name, is_paused } = queue;
      const params = { name };
      return {
        id: `act-queue-${place}`,
        icon: is_paused ? Play : Pause,
        text: is_paused ? texts.shell.resumeQueue(name) : texts.shell.pauseQueue(name),
        hint: texts.shell.action,
        go: act(is_paused ? texts.common.isResumed(name) : texts.common.isPaused(name), [["queues"]], () =>
          is_paused
            ? call("POST /api/v1/queues/{name}/resume", { params })
            : call("POST /api/v1/queues/{name}/pause", { params, body: undefined }),
        ),
      };
    };
    const ofSchedule = (schedule: ScheduleBody, place: number): Act[] => {
      const { id, name, state } = schedule;
      const keys = [["schedules"], ["schedule", id]];
      const isPaused = state === "paused";
      const run: Act = {
        id: `act-run-${place}`,
        icon: Zap,
        text: texts.shell.runScheduleNow(name),
        hint: texts.shell.action,
        go: act(texts.common.runsNow(name), keys, () =>
          call("POST /api/v1/schedules/{id}/trigger", { params: { id } }),
        ),
      };
      if (state === "finished") return [run];
      return [
        run,
        {
          id: `act-schedule-${place}`,
          icon: isPaused ? Play : Pause,
          text: isPaused ? texts.shell.resumeSchedule(name) : texts.shell.pauseSchedule(name),
          hint: texts.shell.action,
          go: act(isPaused ? texts.common.isResumed(name) : texts.common.isPaused(name), keys, () =>
            isPaused
              ? call("POST /api/v1/schedules/{id}/resume", { params: { id } })
              : call("POST /api/v1/schedules/{id}/pause", { params: { id } }),
          ),
        },
      ];
    };
    const fresh: Act = {
      id: "act-new-schedule",
      icon: CalendarPlus,
      text: texts.shell.newSchedule,
      hint: texts.shell.action,
      go: () => void navigate({ to: "/schedules", search: { new: "1" } }),
    };
    return [
      ...(maySchedules ? [fresh] : []),
      ...(mayQueues ? queues.map(ofQueue) : []),
      ...(maySchedules ? schedules.flatMap(ofSchedule) : []),
    ];
  }, [queues, schedules, mayQueues, maySchedules, client, navigate]);
}
