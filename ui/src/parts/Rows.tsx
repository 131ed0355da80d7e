import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useHidden, usePreferences } from "@/preferences";
import { copyId, useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { useMedia } from "./media";
import css from "./Rows.module.css";
import { ariaSort, SortButton } from "./SortButton";
import type { Sort, Sortable } from "./sorting";

export interface Column<Item> extends Sortable<Item> {
  width: string;
  cell: (item: Item) => ReactNode;
  /** Left out on narrow screens. */
  wide?: boolean;
  end?: boolean;
  /** Left out until it is chosen. */
  isExtra?: boolean;
}

interface Props<Item> {
  label: string;
  items: Item[];
  columns: Column<Item>[];
  keyOf: (item: Item) => string;
  /** The id that is copied of a row, if it is not its key. */
  idOf?: (item: Item) => string;
  onOpen?: (item: Item) => void;
  current?: number;
  onCurrent?: (place: number) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (key: string, isRange: boolean) => void;
  onEnd?: () => void;
  /** Rows have two lines on narrow screens. */
  isTall?: boolean;
  more?: ReactNode;
  /** How the rows are sorted, where headings of columns change that. */
  sort?: Sort | null;
  onSort?: (column: string) => void;
}

const HEIGHTS = { regular: 36, compact: 28 };
const TALL = 52;

/** A table of which only the rows in view exist. */
export function Rows<Item>(props: Props<Item>) {
  const { items, keyOf, onOpen, onEnd, selected, onSelect } = props;
  const [own, setOwn] = useState(-1);
  const { current = own, onCurrent = setOwn } = props;
  const { density } = usePreferences();
  const left = useHidden(props.label, props.columns);
  const columns = props.columns.filter((column) => !left.includes(column.name));
  const isNarrow = useMedia("(max-width: 760px)");
  const height = props.isTall && isNarrow ? TALL : HEIGHTS[density];
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
    // Rows are all of one height: places tell them apart. Keys of their own would be looked up for every row there is,
    // at each step.
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another height are measured anew
  useEffect(() => rows.measure(), [height]);
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && items.length > 0 && last >= items.length - 20) onEnd();
  }, [last, items.length, onEnd]);
  useEffect(() => {
    if (current >= 0) rows.scrollToIndex(current, { align: "auto" });
  }, [current, rows]);
  useRowKeys(props, current, onCurrent);

  function onKeyDown(event: KeyboardEvent, place: number) {
    const item = items[place];
    if (event.key === "Enter" && item && event.target === event.currentTarget) onOpen?.(item);
  }

  const layout = {
    gridTemplateColumns: `${onSelect ? "34px " : ""}${columns.map((column) => column.width).join(" ")}`,
  };
  return (
    <div className={css.table} role="table" aria-label={props.label} aria-rowcount={items.length + 1}>
      <div className={css.head} role="row" style={layout}>
        {onSelect && <span role="columnheader" aria-label={texts.parts.select} />}
        {columns.map((column) => (
          <span
            key={column.name}
            role="columnheader"
            data-wide={column.wide || undefined}
            data-end={column.end || undefined}
            {...(props.onSort && column.by ? { "aria-sort": ariaSort(props.sort, column.name) } : {})}
          >
            {props.onSort && column.by ? (
              <SortButton column={column.name} sort={props.sort ?? null} onSort={props.onSort} />
            ) : (
              column.name
            )}
          </span>
        ))}
      </div>
      <div ref={box} className={css.box} tabIndex={0} role="rowgroup">
        <div className={css.all} style={{ height: rows.getTotalSize() }}>
          {shown.map((row) => {
            const item = items[row.index] as Item;
            const key = keyOf(item);
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={row.index + 2}
                aria-selected={selected?.has(key)}
                tabIndex={-1}
                className={css.row}
                data-current={row.index === current || undefined}
                data-opens={onOpen ? true : undefined}
                style={{ ...layout, height, transform: `translateY(${row.start}px)` }}
                onClick={(event) => {
                  if ((event.target as HTMLElement).closest("a,button,input,label")) return;
                  onCurrent(row.index);
                  onOpen?.(item);
                }}
                onKeyDown={(event) => onKeyDown(event, row.index)}
              >
                {onSelect && (
                  <span role="cell" data-fixed>
                    <input
                      type="checkbox"
                      aria-label={texts.parts.selectKey(key)}
                      checked={selected?.has(key) ?? false}
                      onChange={(event) => onSelect(key, (event.nativeEvent as MouseEvent).shiftKey)}
                    />
                  </span>
                )}
                {columns.map((column) => (
                  <span
                    key={column.name}
                    role="cell"
                    data-fixed={column.width.endsWith("px") || undefined}
                    data-wide={column.wide || undefined}
                    data-end={column.end || undefined}
                  >
                    {column.cell(item)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
        {props.more}
      </div>
    </div>
  );
}

/** The keys that move to a row, open it, and copy its id. */
function useRowKeys<Item>(
  { items, keyOf, idOf = keyOf, onOpen }: Props<Item>,
  current: number,
  onCurrent: (place: number) => void,
): void {
  const here = items[current];
  const go = (place: number) => {
    if (items.length > 0) onCurrent(Math.max(0, Math.min(place, items.length - 1)));
    return true;
  };
  useShortcut("down", () => go(current + 1));
  useShortcut("up", () => go(current - 1));
  useShortcut("open", () => {
    if (here === undefined || !onOpen) return false;
    onOpen(here);
    return true;
  });
  useShortcut("copyId", () => {
    if (here === undefined) return false;
    void copyId(idOf(here));
    return true;
  });
}
