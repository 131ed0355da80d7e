import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { callForText } from "@/api/client";
import { every } from "@/api/queries";
import { LogView } from "@/parts/LogView";
import { Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { texts } from "@/texts";
import css from "./Task.module.css";

export function Log({ id, isEnded }: { id: string; isEnded: boolean }) {
  const navigate = useNavigate();
  const { line: named } = useSearch({ from: "/tasks/$id" });
  const line = named && /^L?[1-9]\d{0,8}$/.test(named) ? Number(named.replace("L", "")) : undefined;
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
        <Panel flush label={texts.task.log}>
          <LogView
            text={log.data}
            isGrowing={!isEnded}
            name={id}
            line={line}
            onLine={(next) =>
              void navigate({
                to: "/tasks/$id",
                params: { id },
                search: { tab: "log", line: `L${next}` },
                replace: true,
              })
            }
          />
        </Panel>
      )}
    </div>
  );
}
