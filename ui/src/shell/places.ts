import {
  Bell,
  Blocks,
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
} from "lucide-react";
import { useMemo } from "react";
import { useMe } from "@/api/me";
import type { MeBody, Permission } from "@/api/types";

export const GROUPS = ["Work", "Run", "Admin"] as const;

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
  { group: "Work", to: "/overview", label: "Overview", icon: Gauge, key: "o", needs: "queues:read" },
  { group: "Work", to: "/tasks", label: "Tasks", icon: ListChecks, key: "t", needs: "tasks:read" },
  { group: "Work", to: "/failures", label: "Failures", icon: CircleX, key: "f", needs: "tasks:read" },
  { group: "Work", to: "/jobs", label: "Jobs", icon: GitFork, key: "j", needs: "tasks:read" },
  { group: "Work", to: "/schedules", label: "Schedules", icon: CalendarClock, key: "s", needs: "schedules:read" },
  { group: "Work", to: "/bulk", label: "Bulk operations", icon: Layers, key: "b", needs: "tasks:read" },
  { group: "Run", to: "/queues", label: "Queues", icon: Rows3, key: "q", needs: "queues:read" },
  { group: "Run", to: "/workers", label: "Workers", icon: Server, key: "w", needs: "workers:read" },
  { group: "Run", to: "/types", label: "Task types", icon: Blocks, key: "y", needs: "workers:read" },
  { group: "Run", to: "/shards", label: "Shards", icon: Database, key: "d", needs: "shards:read" },
  { group: "Admin", to: "/notifications", label: "Notifications", icon: Bell, key: "n", needs: "subscriptions:read" },
  { group: "Admin", to: "/audit", label: "Audit", icon: ScrollText, key: "a", needs: "audit:read" },
  { group: "Admin", to: "/keys", label: "Keys", icon: KeyRound, key: "k", needs: "keys:manage" },
  { group: "Admin", to: "/secrets", label: "Secrets", icon: LockKeyhole, key: "x", needs: "secrets:read" },
  { group: "Admin", to: "/settings", label: "Settings", icon: Settings, key: "e" },
];

/** Where a key may go; everywhere until it is known whose it is. */
export function placesFor(me: Pick<MeBody, "permissions"> | undefined): readonly Place[] {
  return PLACES.filter((place) => !me || !place.needs || me.permissions.includes(place.needs));
}

export function usePlaces(): readonly Place[] {
  const me = useMe();
  return useMemo(() => placesFor(me), [me]);
}
