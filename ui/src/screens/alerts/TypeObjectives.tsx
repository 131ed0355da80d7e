import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { SloBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button, IconButton } from "@/parts/Button";
import { Chart } from "@/parts/Chart";
import { Confirm } from "@/parts/Confirm";
import { Facts, Panel } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { texts } from "@/texts";
import css from "./Alerts.module.css";
import { Budget } from "./Objectives";
import { SloSheet } from "./SloSheet";
import { burn, burnedOf, objectiveOf, percent } from "./values";

/** The objectives of one type of task, each with how its budget was spent. */
export function TypeObjectives({ task }: { task: string }) {
  const mayRead = useMay("alerts:read");
  const mayWrite = useMay("alerts:write");
  const [isMaking, setMaking] = useState(false);
  const slos = useQuery({
    queryKey: ["slos", "of", task],
    queryFn: ({ signal }) => call("GET /api/v1/slos", { query: { task, limit: 20 }, signal }),
    refetchInterval: every(60_000),
    enabled: mayRead,
  });
  const items = slos.data?.items ?? [];
  if (!mayRead || (items.length === 0 && !mayWrite)) return null;
  return (
    <>
      <Panel
        title={texts.alerts.objectives}
        flush={items.length > 0}
        aside={
          mayWrite && (
            <Button icon={Plus} onClick={() => setMaking(true)}>
              {texts.alerts.newObjective}
            </Button>
          )
        }
      >
        {items.length === 0 ? (
          <p>{texts.alerts.noObjectiveWhichShareOf}</p>
        ) : (
          <div className={css.objectives}>
            {items.map((slo) => (
              <Objective key={slo.id} id={slo.id} mayWrite={mayWrite} />
            ))}
          </div>
        )}
      </Panel>
      {isMaking && <SloSheet task={task} onClose={() => setMaking(false)} />}
    </>
  );
}

function Objective({ id, mayWrite }: { id: string; mayWrite: boolean }) {
  const [isRemoving, setRemoving] = useState(false);
  const slo = useQuery({
    queryKey: ["slos", "one", id],
    queryFn: ({ signal }) => call("GET /api/v1/slos/{id}", { params: { id }, signal }),
    refetchInterval: every(60_000),
  });
  const remove = useAct(() => call("DELETE /api/v1/slos/{id}", { params: { id } }), {
    done: () => texts.alerts.theObjectiveIsDeleted,
    // Not the objective itself: it is gone.
    changes: [["slos", "of"], ["slos", "list"], ["slos", "all"], ["alerts"]],
    inDialog: true,
  });
  if (slo.data === undefined) return <Unloaded of={slo} rows={2} />;
  const found: SloBody = slo.data;
  const { times, left, burn: rates } = burnedOf(found);
  return (
    <section className={css.objective} aria-label={found.name}>
      <header>
        <h3>{found.name}</h3>
        {mayWrite && (
          <IconButton icon={Trash2} label={texts.alerts.deleteName(found.name)} onClick={() => setRemoving(true)} />
        )}
      </header>
      <Facts
        of={[
          [texts.alerts.objective, objectiveOf(found)],
          [texts.alerts.now, found.share === null ? texts.alerts.noTasksYet : percent(found.share)],
          [texts.alerts.budgetLeft, <Budget key="budget" slo={found} />],
          [texts.alerts.burn1Hour, burn(found.burn_1h)],
          [texts.alerts.burn6Hours, burn(found.burn_6h)],
        ]}
      />
      <div className={css.charts}>
        <Chart
          title={texts.alerts.errorBudgetLeft}
          times={times}
          lines={[{ name: texts.alerts.left, tone: "completed", values: left.map((share) => Math.max(0, share)) }]}
          format={percent}
        />
        <Chart
          title={texts.alerts.burnRate}
          times={times}
          lines={[{ name: texts.alerts.burn, tone: "failed", values: rates }]}
          format={(rate) => burn(rate)}
        />
      </div>
      {isRemoving && (
        <Confirm
          title={texts.common.deleteName(found.name)}
          act="Delete"
          busy={remove.isPending}
          error={remove.error}
          onAct={() => remove.mutate()}
          onClose={() => setRemoving(false)}
        >
          {texts.alerts.itsHistoryAndItsAlerts}
        </Confirm>
      )}
    </section>
  );
}
