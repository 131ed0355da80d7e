import { describe, expect, it } from "vitest";
import { bytes } from "./bytes";

describe("bytes", () => {
  it("are told in the unit that suits them", () => {
    expect([0, 1023, 1024, 88_080_384, 3 * 1024 ** 3, 2 ** 50].map(bytes)).toEqual([
      "0 B",
      "1023 B",
      "1 KiB",
      "84 MiB",
      "3.0 GiB",
      "1024.0 TiB",
    ]);
  });
});
