import {
  Bell,
  BellRing,
  Blocks,
  Building2,
  CalendarClock,
  CircleX,
  Database,
  Gauge,
  GitFork,
  KeyRound,
  Layers,
  ListChecks,
  LockKeyhole,
  type LucideIcon,
  Rows3,
  ScrollText,
  Server,
  Settings,
  TextSearch,
} from "lucide-react";
import { useMemo } from "react";
import { useMe } from "@/api/me";
import type { MeBody, Permission } from "@/api/types";
import { texts } from "@/texts";

export const GROUPS = [texts.shell.work, texts.common.run, texts.shell.admin] as const;

export interface Place {
  group: (typeof GROUPS)[number];
  to: string;
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
  /** What a key must be allowed to do to see it. */
  needs?: Permission;
}

/** Where one can go. */
export const PLACES: readonly Place[] = [
  {
    group: texts.shell.work,
    to: "/overview",
    label: texts.shell.overview,
    icon: Gauge,
    key: "o",
    needs: "queues:read",
  },
  { group: texts.shell.work, to: "/tasks", label: texts.common.tasks, icon: ListChecks, key: "t", needs: "tasks:read" },
  { group: texts.shell.work, to: "/logs", label: texts.common.logs, icon: TextSearch, key: "r", needs: "tasks:read" },
  {
    group: texts.shell.work,
    to: "/failures",
    label: texts.shell.failures,
    icon: CircleX,
    key: "f",
    needs: "tasks:read",
  },
  { group: texts.shell.work, to: "/alerts", label: texts.shell.alerts, icon: BellRing, key: "l", needs: "alerts:read" },
  { group: texts.shell.work, to: "/jobs", label: texts.common.jobs, icon: GitFork, key: "j", needs: "tasks:read" },
  {
    group: texts.shell.work,
    to: "/schedules",
    label: texts.common.schedules,
    icon: CalendarClock,
    key: "s",
    needs: "schedules:read",
  },
  {
    group: texts.shell.work,
    to: "/bulk",
    label: texts.shell.bulkOperations,
    icon: Layers,
    key: "b",
    needs: "tasks:read",
  },
  { group: texts.common.run, to: "/queues", label: texts.common.queues, icon: Rows3, key: "q", needs: "queues:read" },
  {
    group: texts.common.run,
    to: "/workers",
    label: texts.common.workers,
    icon: Server,
    key: "w",
    needs: "workers:read",
  },
  {
    group: texts.common.run,
    to: "/types",
    label: texts.common.taskTypes,
    icon: Blocks,
    key: "y",
    needs: "workers:read",
  },
  { group: texts.common.run, to: "/shards", label: texts.shell.shards, icon: Database, key: "d", needs: "shards:read" },
  {
    group: texts.shell.admin,
    to: "/notifications",
    label: texts.shell.notifications,
    icon: Bell,
    key: "n",
    needs: "subscriptions:read",
  },
  { group: texts.shell.admin, to: "/audit", label: texts.shell.audit, icon: ScrollText, key: "a", needs: "audit:read" },
  {
    group: texts.shell.admin,
    to: "/tenants",
    label: texts.shell.tenants,
    icon: Building2,
    key: "m",
    needs: "tenants:read",
  },
  { group: texts.shell.admin, to: "/keys", label: texts.common.keys, icon: KeyRound, key: "k", needs: "keys:manage" },
  {
    group: texts.shell.admin,
    to: "/secrets",
    label: texts.shell.secrets,
    icon: LockKeyhole,
    key: "x",
    needs: "secrets:read",
  },
  { group: texts.shell.admin, to: "/settings", label: texts.shell.settings, icon: Settings, key: "e" },
];

/** Where a key may go; everywhere until it is known whose it is. */
export function placesFor(me: Pick<MeBody, "permissions"> | undefined): readonly Place[] {
  return PLACES.filter((place) => !me || !place.needs || me.permissions.includes(place.needs));
}

export function usePlaces(): readonly Place[] {
  const me = useMe();
  return useMemo(() => placesFor(me), [me]);
}
