import type { BulkBody } from "@/api/types";
import { texts } from "@/texts";
import css from "./Bulk.module.css";

export function BulkProgress({ bulk }: { bulk: BulkBody }) {
  const share = (count: number) => `${(100 * count) / Math.max(1, bulk.total)}%`;
  const text = texts.bulk.progress(bulk);
  return (
    <span className={css.progress} role="img" aria-label={text} title={text}>
      <span className={css.track}>
        <i data-tone="completed" style={{ width: share(bulk.done) }} />
        <i data-tone="skipped" style={{ width: share(bulk.skipped) }} />
        <i data-tone="failed" style={{ width: share(bulk.failed) }} />
      </span>
      <span className={css.count}>
        {(bulk.done + bulk.skipped + bulk.failed).toLocaleString("en")}/{bulk.total.toLocaleString("en")}
      </span>
    </span>
  );
}
