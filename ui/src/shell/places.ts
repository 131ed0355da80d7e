import { Gauge, ListChecks, type LucideIcon, Rows3, Server } from "lucide-react";

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
  { to: "/queues", label: "Queues", icon: Rows3, key: "q" },
  { to: "/workers", label: "Workers", icon: Server, key: "w" },
];
