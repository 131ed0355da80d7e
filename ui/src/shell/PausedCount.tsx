import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { ofTypes, useRefreshOn } from "@/api/queries";
import { texts } from "@/texts";
import css from "./Rail.module.css";

/** How many queues are paused, beside the link to them: read once, and when one is paused or resumed. */
export function PausedCount() {
  const mayRead = useMay("queues:read");
  const queues = useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /api/v1/queues", { signal }),
    enabled: mayRead,
    staleTime: Number.POSITIVE_INFINITY,
  });
  useRefreshOn(ofTypes("drumline.queue."), [["queues"]], 2_000);
  const count = queues.data?.items.filter((queue) => queue.is_paused).length ?? 0;
  if (count === 0) return null;
  return (
    <span className={css.count} title={texts.shell.queuesPaused(count)}>
      {count}
    </span>
  );
}
