import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import { texts } from "@/texts";
import css from "./Rail.module.css";

const MOST = 50;

/** How many failure groups are open, beside the link to them. */
export function FailureCount() {
  const groups = useQuery({
    queryKey: ["failures", "count"],
    queryFn: ({ signal }) => call("GET /api/v1/failures/groups", { query: { limit: MOST, state: "active" }, signal }),
    refetchInterval: every(60_000),
  });
  useRefreshOn(
    ofTypes("drumline.task.failed", "drumline.task.retried", "drumline.failure_group."),
    [["failures", "count"]],
    10_000,
  );
  const count = groups.data?.items.length ?? 0;
  if (count === 0) return null;
  const text = count === MOST ? `${MOST}+` : String(count);
  return (
    <span className={css.count} title={texts.shell.textFailureGroups(text)}>
      {text}
    </span>
  );
}
