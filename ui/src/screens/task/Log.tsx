import { useQuery } from "@tanstack/react-query";
import { callForText } from "@/api/client";
import { every } from "@/api/queries";
import { LogView } from "@/parts/LogView";
import { Panel } from "@/parts/Panel";
import { Loading, Trouble } from "@/parts/States";
import css from "./Task.module.css";

export function Log({ id, isEnded }: { id: string; isEnded: boolean }) {
  const log = useQuery({
    queryKey: ["task", id, "log"],
    queryFn: ({ signal }) => callForText("GET /api/v1/tasks/{id}/log", { params: { id }, signal }),
    refetchInterval: every(isEnded ? false : 1_000),
  });
  return (
    <div className={css.after}>
      {log.isPending ? (
        <Loading rows={4} />
      ) : log.isError ? (
        <Trouble error={log.error} onRetry={() => void log.refetch()} />
      ) : (
        <Panel flush label="Log">
          <LogView text={log.data} isGrowing={!isEnded} />
        </Panel>
      )}
    </div>
  );
}
