import { createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";
import { UI_PATH } from "@/api/place";
import { Loading } from "@/parts/States";
import { NotFound } from "@/screens/NotFound";
import { BrokenScreen } from "@/shell/BrokenScreen";
import { Shell } from "@/shell/Shell";
import { screen } from "./screen";
import { type TaskSearch, WORDS } from "./search";

export interface TasksSearch extends TaskSearch {
  /** The place in the list, for a link to it. */
  at?: string;
}

function texts(given: Record<string, unknown>, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string" && value) found[name] = value;
    else if (typeof value === "number" || typeof value === "boolean") found[name] = String(value);
  }
  return found;
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/overview" });
  },
});

const overview = createRoute({
  getParentRoute: () => root,
  path: "/overview",
  validateSearch: (given: Record<string, unknown>): { last?: string; queue?: string } =>
    texts(given, ["last", "queue"]),
  component: screen(() => import("@/screens/overview/Overview"), "Overview"),
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  validateSearch: (given: Record<string, unknown>): TasksSearch => texts(given, [...WORDS, "at"]),
  component: screen(() => import("@/screens/tasks/Tasks"), "Tasks"),
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$id",
  validateSearch: (given: Record<string, unknown>): { tab?: string } => texts(given, ["tab"]),
  component: screen(() => import("@/screens/task/Task"), "Task"),
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: (given: Record<string, unknown>): { status?: string; name?: string; owner?: string } =>
    texts(given, ["status", "name", "owner"]),
  component: screen(() => import("@/screens/jobs/Jobs"), "Jobs"),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  validateSearch: (given: Record<string, unknown>): { tab?: string; node?: string } => texts(given, ["tab", "node"]),
  component: screen(() => import("@/screens/job/Job"), "Job"),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  component: screen(() => import("@/screens/queues/Queues"), "Queues"),
});

const failures = createRoute({
  getParentRoute: () => root,
  path: "/failures",
  validateSearch: (given: Record<string, unknown>): { sort?: string; queue?: string; name?: string; kind?: string } =>
    texts(given, ["sort", "queue", "name", "kind"]),
  component: screen(() => import("@/screens/failures/Failures"), "Failures"),
});

const failure = createRoute({
  getParentRoute: () => root,
  path: "/failures/$fingerprint",
  component: screen(() => import("@/screens/failures/Group"), "Group"),
});

const bulks = createRoute({
  getParentRoute: () => root,
  path: "/bulk",
  component: screen(() => import("@/screens/bulk/Bulks"), "Bulks"),
});

const bulk = createRoute({
  getParentRoute: () => root,
  path: "/bulk/$id",
  component: screen(() => import("@/screens/bulk/Bulk"), "Bulk"),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: screen(() => import("@/screens/keys/Keys"), "Keys"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: (given: Record<string, unknown>): { act?: string; key?: string; target?: string } =>
    texts(given, ["act", "key", "target"]),
  component: screen(() => import("@/screens/audit/Audit"), "Audit"),
});

const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  component: screen(() => import("@/screens/schedules/Schedules"), "Schedules"),
});

const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$id",
  component: screen(() => import("@/screens/schedule/Schedule"), "Schedule"),
});

const notifications = createRoute({
  getParentRoute: () => root,
  path: "/notifications",
  component: screen(() => import("@/screens/notifications/Notifications"), "Notifications"),
});

const types = createRoute({
  getParentRoute: () => root,
  path: "/types",
  component: screen(() => import("@/screens/types/Types"), "Types"),
});

const secrets = createRoute({
  getParentRoute: () => root,
  path: "/secrets",
  component: screen(() => import("@/screens/secrets/Secrets"), "Secrets"),
});

const shards = createRoute({
  getParentRoute: () => root,
  path: "/shards",
  component: screen(() => import("@/screens/shards/Shards"), "Shards"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: screen(() => import("@/screens/settings/Settings"), "Settings"),
});

const workers = createRoute({
  getParentRoute: () => root,
  path: "/workers",
  component: screen(() => import("@/screens/workers/Workers"), "Workers"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    overview,
    tasks,
    task,
    jobs,
    job,
    failures,
    failure,
    schedules,
    schedule,
    bulks,
    bulk,
    queues,
    workers,
    types,
    notifications,
    keys,
    audit,
    secrets,
    shards,
    settings,
  ]),
  basepath: UI_PATH || "/",
  defaultPreload: "intent",
  defaultPendingComponent: Loading,
  defaultErrorComponent: BrokenScreen,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
