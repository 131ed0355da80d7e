import { describe, expect, it } from "vitest";
import { parseSearch, writeSearch } from "./search";

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

  it("says what it does not know", () => {
    expect(parseSearch("colour:red status:sleepy").notes).toHaveLength(2);
  });

  it("writes what it reads", () => {
    const search = { status: "failed,cancelled", name: "shop.charge", key: "order 9" };
    expect(parseSearch(writeSearch(search)).search).toEqual(search);
  });
});
