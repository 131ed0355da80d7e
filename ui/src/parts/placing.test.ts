import { describe, expect, it } from "vitest";
import { invalid, Problem } from "@/api/problem";
import { placed } from "./placing";

const problem = (field: string | null, message = "is wrong") => new Problem(422, "invalid", message, field);

describe("the problems of a form", () => {
  it("stand at the field they are about", () => {
    const { at, rest } = placed(problem("queue"), ["name", "queue"]);
    expect([at("name"), at("queue"), rest]).toEqual([null, "Is wrong.", null]);
  });

  it("with a part of a field stand at the nearest field that is shown, which says the part", () => {
    expect(placed(problem("payload.count"), ["payload.count", "payload"]).at("payload.count")).toBe("Is wrong.");
    expect(placed(problem("payload.items[0].id"), ["payload"]).at("payload")).toBe("Items[0].id: is wrong.");
    expect(placed(problem("events[1]"), ["events"]).at("events")).toBe("[1]: is wrong.");
  });

  it("with a field that is not shown, or with none, are said at the top and never lost", () => {
    expect(placed(problem("payload"), ["queue"]).rest).toBe("Payload: is wrong.");
    expect(placed(problem("queues"), ["queue"]).rest).toBe("Queues: is wrong.");
    expect(placed(problem(null, "no"), ["queue"]).rest).toBe("No.");
    expect(placed(new TypeError("broken"), ["queue"]).rest).toContain("broken");
  });

  it("are all there when several fields are wrong", () => {
    const { at, rest } = placed(invalid({ a: "is required", b: "must be a number", c: "is odd" }), ["a", "b"]);
    expect([at("a"), at("b"), rest]).toEqual(["Is required.", "Must be a number.", "C: is odd."]);
  });

  it("are none where nothing went wrong", () => {
    expect(placed(null, ["a"])).toMatchObject({ rest: null });
    expect(placed(undefined, ["a"]).at("a")).toBeNull();
  });
});
