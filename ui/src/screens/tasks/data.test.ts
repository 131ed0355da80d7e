// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { LiveEvent } from "@/api/live";
import type { TaskBody, TaskList } from "@/api/types";
import { requestFor } from "./BulkSheet";
import { brought } from "./data";

function task(id: string, status = "QUEUED"): TaskBody {
  return { id, status, attempt: 0 } as unknown as TaskBody;
}

function page(...items: TaskBody[]): TaskList {
  return { items, next_cursor: null };
}

function told(id: string, status: string): LiveEvent {
  return { id: "1", type: "drumline.task.completed", subject: id, time: "", data: { id, status, attempt: 1 } };
}

describe("a list that is shown", () => {
  it("takes over what was read again, in its place", () => {
    const [found] = brought([page(task("a"), task("b"))], [task("b", "COMPLETED"), task("new")], []);
    expect(found?.items.map((one) => [one.id, one.status])).toEqual([
      ["a", "QUEUED"],
      ["b", "COMPLETED"],
    ]);
  });

  it("keeps the payloads that it has when tasks are read again without them", () => {
    const shown = { ...task("a"), payload: { n: 1 } };
    const [found] = brought([page(shown)], [task("a", "COMPLETED")], []);
    expect(found?.items).toEqual([{ id: "a", status: "COMPLETED", attempt: 0, payload: { n: 1 } }]);
  });

  it("takes the status of rows further down from events", () => {
    const [found] = brought([page(task("a"))], [], [told("a", "COMPLETED"), told("elsewhere", "FAILED")]);
    expect(found?.items).toEqual([{ id: "a", status: "COMPLETED", attempt: 1 }]);
  });

  it("leaves pages alone in which nothing changed", () => {
    const pages = [page(task("a")), page(task("b"))];
    const found = brought(pages, [], [told("b", "COMPLETED")]);
    expect(found[0]).toBe(pages[0]);
    expect(found[1]).not.toBe(pages[1]);
  });
});

describe("what is asked of many tasks", () => {
  it("keeps to the filter", () => {
    const request = requestFor("cancel", { search: { queue: "mail", status: "queued,pending" } });
    expect(request).toEqual({ act: "cancel", filter: { queue: "mail", status: ["QUEUED", "PENDING"] } });
  });

  it("retries whatever has ended badly, not dead letters alone", () => {
    const request = requestFor("retry", { search: { tag: "vip" } });
    expect(request).toEqual({ act: "retry", filter: { tag: "vip", status: ["FAILED", "CANCELLED", "SKIPPED"] } });
  });

  it("says all when nothing narrows", () => {
    expect(requestFor("cancel", { search: {} })).toEqual({ act: "cancel", all: true });
  });

  it("names tasks that were named", () => {
    expect(requestFor("reschedule", { ids: ["a"] })).toEqual({ act: "reschedule", delay: 0, ids: ["a"] });
  });
});
