import { type ReactNode, useEffect, useRef } from "react";
import css from "./Tabs.module.css";

export interface Tab {
  id: string;
  label: ReactNode;
  count?: string | undefined;
}

interface Props {
  label: string;
  tabs: Tab[];
  current: string;
  onChange: (id: string) => void;
}

/** A row of choices, one of them taken and in sight; arrow keys move. */
export function Tabs({ label, tabs, current, onChange }: Props) {
  const row = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice is another place to show
  useEffect(() => {
    const taken = row.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (!row.current || !taken) return;
    const [around, within] = [row.current.getBoundingClientRect(), taken.getBoundingClientRect()];
    // The row alone is moved: scrollIntoView would move the page as well.
    if (within.right > around.right || within.left < around.left)
      row.current.scrollLeft += within.left - around.left - (around.width - within.width) / 2;
  }, [current]);
  return (
    <div
      ref={row}
      className={css.tabs}
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!step) return;
        event.preventDefault();
        const place = tabs.findIndex((tab) => tab.id === current);
        const next = tabs[(place + step + tabs.length) % tabs.length];
        if (!next) return;
        onChange(next.id);
        const list = event.currentTarget;
        requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
      }}
    >
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChange(tab.id)}
        >
          {tab.label}
          {tab.count !== undefined && <span className={css.count}>{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}
