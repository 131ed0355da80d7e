import { useQuery } from "@tanstack/react-query";
import { callForText } from "@/api/client";
import { every } from "@/api/queries";
import { LogView } from "@/parts/LogView";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import css from "./Task.module.css";

export function Log({ id, isEnded }: { id: string; isEnded: boolean }) {
  const log = useQuery({
    queryKey: ["task", id, "log"],
    queryFn: ({ signal }) => callForText("GET /api/v1/tasks/{id}/log", { params: { id }, signal }),
    refetchInterval: every(isEnded ? false : 1_000),
  });
  return (
    <div className={css.after}>
      {log.data === undefined ? (
        <Unloaded of={log} rows={4} />
      ) : (
        <Panel flush label="Log">
          <LogView text={log.data} isGrowing={!isEnded} />
        </Panel>
      )}
    </div>
  );
}
