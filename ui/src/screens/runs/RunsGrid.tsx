import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { GitCompareArrows } from "lucide-react";
import { useMemo, useState } from "react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { Button } from "@/parts/Button";
import { Select } from "@/parts/Select";
import { Empty, Unloaded } from "@/parts/States";
import { statusTone, statusWord } from "@/parts/Status";
import { clock, span } from "@/parts/time";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { type Column, type GridRow, gridOf, secondsOf } from "./grid";
import css from "./RunsGrid.module.css";

const SHOWN = 40;

interface Props {
  /** Whose runs: those that a schedule made, or those of a name. */
  of: { schedule_id: string } | { name: string };
  /** The run that is looked at. */
  current?: string;
}

/** The last 25 runs of a job, each a column with the statuses of its tasks. */
export function RunsGrid({ of, current }: Props) {
  const runs = useQuery({
    queryKey: ["runs", of],
    queryFn: ({ signal }) => call("GET /api/v1/jobs/runs", { query: of, signal }),
    refetchInterval: every(10_000),
  });
  const [isAll, setAll] = useState(false);
  const grid = useMemo(() => (runs.data ? gridOf(runs.data) : null), [runs.data]);
  if (!runs.data || !grid) return <Unloaded of={runs} rows={4} />;
  if (grid.columns.length === 0) return <Empty title={texts.runs.noRunsYet} />;
  const rows = isAll ? grid.rows : grid.rows.slice(0, SHOWN);
  return (
    <div className={css.runs}>
      <div className={css.scroll} tabIndex={0} role="group" aria-label={texts.runs.runsAndTheirTasks}>
        <table className={css.grid}>
          <Heads columns={grid.columns} current={current} />
          <tbody>
            {rows.map((row) => (
              <GridLine key={row.key} row={row} columns={grid.columns} current={current} />
            ))}
          </tbody>
        </table>
      </div>
      <div className={css.foot}>
        {rows.length < grid.rows.length && (
          <Button onClick={() => setAll(true)}>{texts.runs.showAll(grid.rows.length)}</Button>
        )}
        {runs.data.is_cut && <span className={css.note}>{texts.runs.someTasksAreLeftOut}</span>}
        {grid.columns.length > 1 ? (
          <Choice columns={grid.columns} current={current} />
        ) : (
          <span className={css.note}>{texts.runs.thisIsTheOnlyRun}</span>
        )}
      </div>
    </div>
  );
}

function Heads({ columns, current }: { columns: Column[]; current: string | undefined }) {
  const { zone } = usePreferences();
  const longest = Math.max(0.001, ...columns.map(({ seconds }) => seconds ?? 0));
  return (
    <thead>
      <tr>
        <th scope="col">
          <span className={css.longest}>{span(longest)}</span>
        </th>
        {columns.map((column) => {
          const took = column.seconds === null ? texts.runs.notStarted : span(column.seconds);
          const words = `${clock(column.createdAt, zone)}: ${statusWord(column.status)}, ${took}`;
          return (
            <th key={column.id} scope="col" data-current={column.id === current || undefined}>
              <Link to="/jobs/$id" params={{ id: column.id }} search={{ tab: "runs" }} title={words} aria-label={words}>
                <i
                  data-tone={statusTone(column.status)}
                  style={{ height: `${Math.max(6, (100 * (column.seconds ?? 0)) / longest)}%` }}
                />
              </Link>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function GridLine({ row, columns, current }: { row: GridRow; columns: Column[]; current: string | undefined }) {
  return (
    <tr>
      <th scope="row" title={`${row.key}: ${row.name}`}>
        {row.key}
      </th>
      {row.cells.map((cell, place) => {
        const run = columns[place];
        if (!run) return null;
        if (!cell) return <td key={run.id} data-current={run.id === current || undefined} />;
        const seconds = secondsOf(cell.started_at, cell.finished_at);
        const again = cell.attempt > 1 ? texts.runs.attempt(cell.attempt) : "";
        const words = `${row.key}: ${statusWord(cell.status)}${seconds === null ? "" : `, ${span(seconds)}`}${again}`;
        return (
          <td key={run.id} data-current={run.id === current || undefined}>
            <Link to="/jobs/$id" params={{ id: run.id }} search={{ tab: "runs", node: row.key }} title={words}>
              <i data-tone={statusTone(cell.status)} data-again={cell.attempt > 1 || undefined} />
              <span className="hidden">{words}</span>
            </Link>
          </td>
        );
      })}
    </tr>
  );
}

/** Which two runs to compare: the one that is looked at and the one before it, unless others are chosen. */
function Choice({ columns, current }: { columns: Column[]; current: string | undefined }) {
  const { zone } = usePreferences();
  const navigate = useNavigate();
  const place = Math.max(
    1,
    columns.findIndex((column) => column.id === (current ?? columns.at(-1)?.id)),
  );
  const [before, setBefore] = useState(columns[place - 1]?.id ?? "");
  const [after, setAfter] = useState(columns[place]?.id ?? "");
  const choices = [...columns].reverse().map((column) => ({
    value: column.id,
    label: `${clock(column.createdAt, zone)} · ${statusWord(column.status)}`,
  }));
  return (
    <form
      className={css.choice}
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({ to: "/jobs/compare", search: { a: before, b: after } });
      }}
    >
      <label>
        {texts.runs.compare} <Select value={before} choices={choices} onChange={setBefore} />
      </label>
      <label>
        {texts.runs.with} <Select value={after} choices={choices} onChange={setAfter} />
      </label>
      <Button type="submit" icon={GitCompareArrows} disabled={before === after}>
        {texts.runs.compare}
      </Button>
    </form>
  );
}
