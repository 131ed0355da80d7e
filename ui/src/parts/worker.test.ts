import { describe, expect, it } from "vitest";
import { workerName } from "./worker";

describe("the name of a worker", () => {
  const id = "w-0123456789abcdef";

  it("is its label, or where it runs", () => {
    expect(workerName({ label: "gpu", host: "box", pid: 7, id })).toBe("gpu");
    expect(workerName({ label: "", host: "box", pid: 7, id })).toBe("box:7");
  });

  it("is its id for a key that is not told where it runs", () => {
    expect(workerName({ label: "", host: "", pid: 0, id })).toBe(id);
  });
});
