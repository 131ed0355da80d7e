import { describe, expect, it } from "vitest";
import { nextSort, type Sortable, sorted, sortFrom, sortText } from "./sorting";

interface Row {
  name: string;
  took: number | null;
}

const COLUMNS: Sortable<Row>[] = [
  { name: "Name", by: (row) => row.name },
  { name: "Duration", by: (row) => row.took },
  { name: "Tags" },
];
const ROWS: Row[] = [
  { name: "b", took: null },
  { name: "a", took: 9 },
  { name: "c", took: 10 },
];
const names = (column: string, isDown: boolean) => sorted(ROWS, COLUMNS, { column, isDown }).map(({ name }) => name);

describe("sorting", () => {
  it("is by numbers or text, with what has no value at the end", () => {
    expect(names("Duration", true)).toEqual(["c", "a", "b"]);
    expect(names("Duration", false)).toEqual(["a", "c", "b"]);
    expect(names("Name", false)).toEqual(["a", "b", "c"]);
  });

  it("leaves a list as it came without a column to sort by", () => {
    expect(sorted(ROWS, COLUMNS, null)).toBe(ROWS);
    expect(sorted(ROWS, COLUMNS, { column: "Tags", isDown: true })).toBe(ROWS);
  });

  it("is kept in the address, and is none for columns that there are not", () => {
    for (const isDown of [true, false]) {
      const sort = { column: "Duration", isDown };
      expect(sortFrom(sortText(sort), COLUMNS)).toEqual(sort);
    }
    expect(["-Tags", "Nothing", undefined].map((text) => sortFrom(text, COLUMNS))).toEqual([null, null, null]);
  });

  it("goes down, up, and back to the order of the list", () => {
    const down = nextSort(null, "Name");
    const up = nextSort(down, "Name");

    expect([down?.isDown, up?.isDown, nextSort(up, "Name")]).toEqual([true, false, null]);
    expect(nextSort(down, "Duration")).toEqual({ column: "Duration", isDown: true });
  });
});
