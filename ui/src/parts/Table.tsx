import type { ReactNode } from "react";
import css from "./Table.module.css";

/** A table of a few rows; longer ones are `Rows`. On narrow screens it scrolls sideways. */
export function Table({ head, children }: { head: string[]; children: ReactNode }) {
  return (
    <div className={css.scroll} tabIndex={0} role="group" aria-label="Table">
      <table className={css.table}>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name || <span className="hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
