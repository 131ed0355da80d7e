import { describe, expect, it } from "vitest";
import { cpuText, landmarkNames, memoryText, workerName } from "./worker";

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

describe("the tiles of workers", () => {
  it("are told apart where workers have the same name", () => {
    const workers = ["w-1", "w-2", "w-3"].map((id, place) => ({
      id,
      label: place < 2 ? "gpu" : "",
      host: "box",
      pid: 7,
    }));
    expect([...landmarkNames(workers).values()]).toEqual(["gpu w-1", "gpu w-2", "box:7"]);
    expect(landmarkNames([{ id: "w-1", label: "", host: "", pid: 0 }]).get("w-1")).toBe("w-1");
  });
});

describe("what a worker uses", () => {
  it("is told in units that people read", () => {
    expect([memoryText({ memory: 88_080_384 }), cpuText({ cpu: 0.371 }), cpuText({ cpu: 12.5 })]).toEqual([
      "84 MiB",
      "37 %",
      "1,250 %",
    ]);
  });

  it("is a dash where it is not known, and not where it is nothing", () => {
    expect([memoryText({ memory: null }), cpuText({ cpu: null })]).toEqual(["–", "–"]);
    expect([memoryText({ memory: 0 }), cpuText({ cpu: 0 })]).toEqual(["0 B", "0 %"]);
  });
});
