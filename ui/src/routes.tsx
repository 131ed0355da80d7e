import { createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";
import { UI_PATH } from "@/api/place";
import { Loading } from "@/parts/States";
import { NotFound } from "@/screens/NotFound";
import { BrokenScreen } from "@/shell/BrokenScreen";
import { Shell } from "@/shell/Shell";
import { screen } from "./screen";
import { type TaskSearch, WORDS } from "./search";

export interface TasksSearch extends TaskSearch {
  /** The column that the loaded rows are sorted by, with - before it downwards. */
  sort?: string;
  /** The place in the list, for a link to it. */
  at?: string;
}

export interface LogsSearch extends TaskSearch {
  /** What lines have to contain. */
  text?: string;
  /** Their least level. */
  level?: string;
}

export interface JobsSearch {
  status?: string;
  name?: string;
  owner?: string;
  /** Submitted within the last so long. */
  since?: string;
  filter?: string;
  sort?: string;
}

export interface FailuresSearch {
  sort?: string;
  state?: string;
  queue?: string;
  name?: string;
  kind?: string;
  /** Failed within the last so long. */
  since?: string;
  filter?: string;
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

/** The address of a list that can be sorted. */
function sortSearch(given: Record<string, unknown>): { sort?: string } {
  return texts(given, ["sort"]);
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
  validateSearch: (given: Record<string, unknown>): { last?: string; queue?: string; from?: string; until?: string } =>
    texts(given, ["last", "queue", "from", "until"]),
  component: screen(() => import("@/screens/overview/Overview"), "Overview"),
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  validateSearch: (given: Record<string, unknown>): TasksSearch => texts(given, [...WORDS, "filter", "sort", "at"]),
  component: screen(() => import("@/screens/tasks/Tasks"), "Tasks"),
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$id",
  validateSearch: (given: Record<string, unknown>): { tab?: string; line?: string } => texts(given, ["tab", "line"]),
  component: screen(() => import("@/screens/task/Task"), "Task"),
});

const logs = createRoute({
  getParentRoute: () => root,
  path: "/logs",
  validateSearch: (given: Record<string, unknown>): LogsSearch => texts(given, [...WORDS, "filter", "text", "level"]),
  component: screen(() => import("@/screens/logs/Logs"), "Logs"),
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: (given: Record<string, unknown>): JobsSearch =>
    texts(given, ["status", "name", "owner", "since", "filter", "sort"]),
  component: screen(() => import("@/screens/jobs/Jobs"), "Jobs"),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  validateSearch: (given: Record<string, unknown>): { tab?: string; node?: string } => texts(given, ["tab", "node"]),
  component: screen(() => import("@/screens/job/Job"), "Job"),
});

const compareJobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs/compare",
  validateSearch: (given: Record<string, unknown>): { a?: string; b?: string } => texts(given, ["a", "b"]),
  component: screen(() => import("@/screens/compare/CompareJobs"), "CompareJobs"),
});

const compareTasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks/compare",
  validateSearch: (given: Record<string, unknown>): { a?: string; b?: string } => texts(given, ["a", "b"]),
  component: screen(() => import("@/screens/compare/CompareTasks"), "CompareTasks"),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  validateSearch: sortSearch,
  component: screen(() => import("@/screens/queues/Queues"), "Queues"),
});

const failures = createRoute({
  getParentRoute: () => root,
  path: "/failures",
  validateSearch: (given: Record<string, unknown>): FailuresSearch =>
    texts(given, ["sort", "state", "queue", "name", "kind", "since", "filter"]),
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
  validateSearch: sortSearch,
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
  validateSearch: (given: Record<string, unknown>): { new?: string; sort?: string } => texts(given, ["new", "sort"]),
  component: screen(() => import("@/screens/schedules/Schedules"), "Schedules"),
});

const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$id",
  component: screen(() => import("@/screens/schedule/Schedule"), "Schedule"),
});

const alerts = createRoute({
  getParentRoute: () => root,
  path: "/alerts",
  validateSearch: sortSearch,
  component: screen(() => import("@/screens/alerts/Alerts"), "Alerts"),
});

const alert = createRoute({
  getParentRoute: () => root,
  path: "/alerts/$id",
  component: screen(() => import("@/screens/alerts/Alert"), "Alert"),
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

const tenants = createRoute({
  getParentRoute: () => root,
  path: "/tenants",
  component: screen(() => import("@/screens/tenants/Tenants"), "Tenants"),
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

const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$name",
  validateSearch: (given: Record<string, unknown>): { last?: string } => texts(given, ["last"]),
  component: screen(() => import("@/screens/queue/Queue"), "Queue"),
});

const type = createRoute({
  getParentRoute: () => root,
  path: "/types/$name",
  validateSearch: (given: Record<string, unknown>): { last?: string } => texts(given, ["last"]),
  component: screen(() => import("@/screens/type/Type"), "Type"),
});

const worker = createRoute({
  getParentRoute: () => root,
  path: "/workers/$id",
  component: screen(() => import("@/screens/worker/Worker"), "Worker"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    overview,
    tasks,
    compareTasks,
    task,
    logs,
    jobs,
    compareJobs,
    job,
    failures,
    failure,
    schedules,
    schedule,
    bulks,
    bulk,
    queues,
    queue,
    workers,
    worker,
    types,
    type,
    alerts,
    alert,
    notifications,
    keys,
    audit,
    secrets,
    shards,
    tenants,
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
