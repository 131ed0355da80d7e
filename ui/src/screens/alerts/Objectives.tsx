import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { SloBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { sloSnippets } from "@/parts/createSnippets";
import { Panel } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { texts } from "@/texts";
import css from "./Alerts.module.css";
import { SloSheet } from "./SloSheet";
import { burn, objectiveOf, percent } from "./values";

/** Service level objectives with what is left of their budgets. */
export function Objectives() {
  const mayWrite = useMay("alerts:write");
  const [isMaking, setMaking] = useState(false);
  const slos = useQuery({
    queryKey: ["slos", "list"],
    queryFn: ({ signal }) => call("GET /api/v1/slos", { query: { limit: 100 }, signal }),
    refetchInterval: every(60_000),
  });
  return (
    <Panel
      title={texts.alerts.objectives}
      flush
      aside={
        mayWrite && (
          <Button icon={Plus} onClick={() => setMaking(true)}>
            {texts.alerts.newObjective}
          </Button>
        )
      }
    >
      {slos.data === undefined ? (
        <Unloaded of={slos} rows={2} />
      ) : slos.data.items.length === 0 ? (
        <Empty title={texts.alerts.noObjectivesYet}>
          <p>{texts.alerts.anObjectiveSaysWhichShare}</p>
        </Empty>
      ) : (
        <Table
          head={[
            texts.common.name,
            texts.common.task,
            texts.alerts.objective,
            texts.alerts.now,
            texts.alerts.budgetLeft,
            texts.alerts.burn1h,
            texts.alerts.burn6h,
            "",
          ]}
        >
          {slos.data.items.map((slo) => (
            <tr key={slo.id}>
              <th scope="row" className={css.name}>
                {slo.name}
              </th>
              <td className={css.name}>
                <Link to="/types/$name" params={{ name: slo.task }}>
                  {slo.task}
                </Link>
              </td>
              <td className={css.summary}>{objectiveOf(slo)}</td>
              <td>{slo.share === null ? "–" : percent(slo.share)}</td>
              <td>
                <Budget slo={slo} />
              </td>
              <td>{burn(slo.burn_1h)}</td>
              <td>{burn(slo.burn_6h)}</td>
              <td>
                <span className={css.acts}>
                  <CopyAs title={texts.common.createName(slo.name)} of={() => sloSnippets(serverUrl(), slo)} />
                </span>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isMaking && <SloSheet onClose={() => setMaking(false)} />}
    </Panel>
  );
}

/** What is left of an error budget, as a bar and in words. */
export function Budget({ slo }: { slo: SloBody }) {
  const left = Math.max(0, Math.min(1, slo.budget_left));
  const tone = slo.budget_left <= 0 ? "bad" : slo.budget_left < 0.25 ? "warn" : "good";
  return (
    <span className={css.budget} data-tone={tone}>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" rx="1" />
        <rect width={left * 100} height="6" rx="1" data-left />
      </svg>
      {percent(slo.budget_left)}
    </span>
  );
}
