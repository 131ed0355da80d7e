import { type Difference, differencesOf } from "@/parts/differences";
import { Table } from "@/parts/Table";
import { texts } from "@/texts";
import css from "./Compare.module.css";

/** Where two values differ, place by place. */
export function Differences({ before, after, same }: { before: unknown; after: unknown; same: string }) {
  const found = differencesOf(before, after);
  if (found.length === 0) return <p className={css.same}>{same}</p>;
  return <DifferenceTable of={found} />;
}

export function DifferenceTable({ of }: { of: Difference[] }) {
  return (
    <Table head={[texts.compare.field, "A", "B"]}>
      {of.map((one) => (
        <tr key={one.path}>
          <th scope="row">
            <code>{one.path}</code>
          </th>
          <td className={css.value}>{one.before === undefined ? "–" : <code>{one.before}</code>}</td>
          <td className={css.value}>{one.after === undefined ? "–" : <code>{one.after}</code>}</td>
        </tr>
      ))}
    </Table>
  );
}
