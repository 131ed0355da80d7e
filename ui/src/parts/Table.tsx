import { type ReactNode, useLayoutEffect, useRef } from "react";
import { texts } from "@/texts";
import { ariaSort, SortButton } from "./SortButton";
import type { Sort, Sortable } from "./sorting";
import css from "./Table.module.css";

interface TableProps {
  head: string[];
  /** How the rows are sorted, where some headings change that. */
  sorting?: { columns: readonly Sortable<never>[]; sort: Sort | null; onSort: (column: string) => void };
  children: ReactNode;
}

/** A table of a few rows; longer ones are `Rows`. On narrow screens each row is a card whose values say what they are. */
export function Table({ head, sorting, children }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  useLayoutEffect(() => {
    for (const row of body.current?.rows ?? []) {
      for (const [place, cell] of [...row.cells].entries()) {
        cell.dataset.label = head[place] ?? "";
        if (head[place] === "") cell.dataset.acts = "";
        // What is cut is whole under the pointer.
        else if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent ?? "";
      }
    }
  });
  return (
    <div className={css.scroll} tabIndex={0} role="group" aria-label={texts.parts.table}>
      <table className={css.table}>
        <thead>
          <tr>
            {head.map((name) =>
              sorting?.columns.some((column) => column.by && column.name === name) ? (
                <th key={name} scope="col" aria-sort={ariaSort(sorting.sort, name)}>
                  <SortButton column={name} sort={sorting.sort} onSort={sorting.onSort} />
                </th>
              ) : (
                <th key={name} scope="col">
                  {name || <span className="hidden">{texts.parts.actions}</span>}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </div>
  );
}
