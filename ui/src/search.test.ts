import { describe, expect, it } from "vitest";
import { frozen, parseSearch, spanOf, termsOf, writeSearch } from "./search";

describe("a time span", () => {
  it("is a number and a unit", () => {
    expect(["90s", "15m", "2h", "7d"].map(spanOf)).toEqual([90_000, 900_000, 7_200_000, 604_800_000]);
    expect(["", "m", "15", "1w", "-5m", "1.5h", "15 m"].map(spanOf)).toEqual(Array(7).fill(null));
  });

  it("narrows a search to what was submitted within it", () => {
    expect(parseSearch("since:2h").search).toEqual({ since: "2h" });
    expect(parseSearch("since:yesterday").notes[0]).toContain("not a duration");
  });

  it("narrows a search to what ended within it", () => {
    expect(parseSearch("status:failed ended:15m").search).toEqual({ status: "failed", ended: "15m" });
    expect(parseSearch("ended:soon").notes[0]).toContain("not a duration");
  });
});

describe("a search that is frozen", () => {
  it("has times in place of spans", () => {
    const now = Date.parse("2026-11-18T14:00:00Z");
    expect(frozen({ status: "failed", since: "2h", ended: "15m", filter: "-queue:bulk" }, now)).toEqual({
      status: "failed",
      filter: "-queue:bulk created>=2026-11-18T12:00:00.000Z ended>=2026-11-18T13:45:00.000Z",
    });
    expect(frozen({ queue: "mail" }, now)).toEqual({ queue: "mail" });
  });
});

describe("the search box", () => {
  it("takes words in any order", () => {
    expect(parseSearch("tag:vip status:failed queue:mail").search).toEqual({
      tag: "vip",
      status: "failed",
      queue: "mail",
    });
  });

  it("keeps what stands between quotes together", () => {
    expect(parseSearch('key:"order 9"').search).toEqual({ key: "order 9" });
  });

  it("opens a task by its id", () => {
    const id = "01a1defe-3d7b-73c6-afef-d51ea20f0091";
    expect(parseSearch(id).id).toBe(id);
  });

  it("leaves to the server what is more than a word and a value", () => {
    const text =
      'status:failed -queue:bulk name:charge* payload.order_id=17 duration>5s error:"timed out" charge tag:a,b';
    const { search, notes } = parseSearch(text);
    expect(notes).toEqual([]);
    expect(search).toEqual({
      status: "failed",
      filter: '-queue:bulk name:charge* payload.order_id=17 duration>5s error:"timed out" charge tag:a,b',
    });
    expect(writeSearch(search)).toBe(text);
  });

  it("writes a value with a star so that it stays that value", () => {
    const search = { name: "a*b", tag: "x,y", key: ">1" };
    expect(writeSearch(search)).toBe('name:"a*b" tag:"x,y" key:">1"');
    expect(parseSearch(writeSearch(search)).search).toEqual(search);
  });

  it("writes the filters of any list as terms", () => {
    expect(termsOf({ queue: "a b", name: undefined, kind: "ValueError", last: "2h" }, "count>1")).toBe(
      'queue:"a b" kind:ValueError last:2h count>1',
    );
    expect(termsOf({ queue: undefined })).toBe("");
  });

  it("says what it does not know", () => {
    expect(parseSearch("colour:red status:sleepy").notes).toHaveLength(2);
  });

  it("writes what it reads", () => {
    const search = { status: "failed,cancelled", name: "shop.charge", key: "order 9" };
    expect(parseSearch(writeSearch(search)).search).toEqual(search);
  });
});
