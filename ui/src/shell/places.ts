import {
  Bell,
  Blocks,
  CalendarClock,
  CircleX,
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

export interface Place {
  to: string;
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
}

/** Where one can go. */
export const PLACES: readonly Place[] = [
  { to: "/overview", label: "Overview", icon: Gauge, key: "o" },
  { to: "/tasks", label: "Tasks", icon: ListChecks, key: "t" },
  { to: "/failures", label: "Failures", icon: CircleX, key: "f" },
  { to: "/jobs", label: "Jobs", icon: GitFork, key: "j" },
  { to: "/schedules", label: "Schedules", icon: CalendarClock, key: "s" },
  { to: "/queues", label: "Queues", icon: Rows3, key: "q" },
  { to: "/workers", label: "Workers", icon: Server, key: "w" },
  { to: "/types", label: "Task types", icon: Blocks, key: "y" },
  { to: "/bulk", label: "Bulk operations", icon: Layers, key: "b" },
  { to: "/notifications", label: "Notifications", icon: Bell, key: "n" },
  { to: "/audit", label: "Audit", icon: ScrollText, key: "a" },
  { to: "/keys", label: "Keys", icon: KeyRound, key: "k" },
  { to: "/secrets", label: "Secrets", icon: LockKeyhole, key: "x" },
  { to: "/settings", label: "Settings", icon: Settings, key: "e" },
];
