import { ArrowDown, ArrowUp } from "lucide-react";
import { texts } from "@/texts";
import css from "./Rows.module.css";
import type { Sort } from "./sorting";

/** How a column is sorted, as a heading says it. */
export function ariaSort(sort: Sort | null | undefined, column: string): "ascending" | "descending" | "none" {
  if (sort?.column !== column) return "none";
  return sort.isDown ? "descending" : "ascending";
}

/** The heading of a column by which the loaded rows can be sorted. */
export function SortButton({
  column,
  sort,
  onSort,
}: {
  column: string;
  sort: Sort | null;
  onSort: (column: string) => void;
}) {
  const Arrow = sort?.column !== column ? null : sort.isDown ? ArrowDown : ArrowUp;
  return (
    <button type="button" className={css.sort} title={texts.parts.sortTheLoadedRows} onClick={() => onSort(column)}>
      {column}
      {Arrow && <Arrow size={12} aria-hidden="true" />}
    </button>
  );
}
