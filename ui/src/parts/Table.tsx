import { type ReactNode, useLayoutEffect, useRef } from "react";
import { texts } from "@/texts";
import css from "./Table.module.css";

/** A table of a few rows; longer ones are `Rows`. On narrow screens each row is a card whose values say what they are. */
export function Table({ head, children }: { head: string[]; children: ReactNode }) {
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
            {head.map((name) => (
              <th key={name} scope="col">
                {name || <span className="hidden">{texts.parts.actions}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </div>
  );
}
