// @vitest-environment jsdom
import { notifyManager, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queries } from "@/api/queries";
import type { JobBody } from "@/api/types";
import { History } from "./History";
import type { Node } from "./model";

const job = {
  id: "j",
  status: "COMPLETED",
  created_at: "2026-01-01T00:00:00Z",
  finished_at: "2026-01-01T00:00:02Z",
} as JobBody;
const load = {
  key: "load",
  attempt: 2,
  status: "COMPLETED",
  started_at: "2026-01-01T00:00:01Z",
  finished_at: "2026-01-01T00:00:02Z",
  reason: null,
} as Node;
const known = [
  { ...load, task_id: "t", worker: null, epoch: 2, outcome: "completed" },
  { ...load, task_id: "t", worker: null, epoch: 1, attempt: 1, outcome: "retried" },
];

let page: Root;
let box: HTMLElement;

function answer(status: number, body: object): void {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(body), { status }));
}

async function show(): Promise<void> {
  await act(async () =>
    page.render(
      <QueryClientProvider client={queries}>
        <History job={job} nodes={[load]} selected={null} onSelect={() => {}} />
      </QueryClientProvider>,
    ),
  );
  await vi.waitFor(async () => {
    await act(async () => {});
    expect(box.querySelector("[aria-label=Loading]")).toBeNull();
  });
}

/** How many events the table has; only those in view are drawn, and here nothing has a height. */
function count(): number {
  return Number(box.querySelector("[role=table]")?.getAttribute("aria-rowcount")) - 1;
}

notifyManager.setScheduler((tell) => tell()); // at once, so that what is shown is up to date after each act

beforeEach(() => {
  // This DOM has no media: no screen is narrow.
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }));
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  box = document.body.appendChild(document.createElement("div"));
  page = createRoot(box);
});

afterEach(async () => {
  await act(async () => page.unmount());
  box.remove();
  queries.clear();
  vi.unstubAllGlobals();
});

describe("the events of a job", () => {
  it("tell of every execution", async () => {
    answer(200, { items: known, is_more: false });
    await show();

    expect(count()).toBe(6);
    expect(box.textContent).not.toContain("older version");
  });

  it("tell of the last execution of each task where a server of the version before cannot list them", async () => {
    answer(404, { code: "unknown_path", detail: "there is nothing at /api/v1/jobs/j/attempts" });
    await show();

    expect(count()).toBe(4);
    expect(box.querySelector("[role=alert]")).toBeNull();
    expect(box.textContent).toContain("this server version cannot list earlier attempts");
  });

  it("keep what is known when the next answer is that of an older server", async () => {
    answer(200, { items: known, is_more: false });
    await show();
    answer(404, { code: "unknown_path", detail: "there is nothing at /api/v1/jobs/j/attempts" });
    await act(async () => queries.refetchQueries());
    expect(queries.getQueryState(["job", "j", "attempts"])?.status).toBe("error");

    expect(count()).toBe(6);
    expect(box.querySelector("[role=alert]")).toBeNull();
  });

  it("are an error where the job has gone", async () => {
    answer(404, { code: "not_found", detail: "there is no job j" });
    await show();

    expect(box.querySelector("[role=alert]")?.textContent).toContain("There is no job j.");
  });
});
