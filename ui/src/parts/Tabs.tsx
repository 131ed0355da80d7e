import type { ReactNode } from "react";
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

/** A row of choices, one of them taken; arrow keys move. */
export function Tabs({ label, tabs, current, onChange }: Props) {
  return (
    <div
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
