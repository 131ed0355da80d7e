import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import { every } from "@/api/queries";
import type { TypeBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { RunSheet } from "./RunSheet";
import css from "./Types.module.css";

/** What live workers can run. */
export function Types() {
  const me = useMe();
  const maySubmit = useMay("tasks:submit");
  const [running, setRunning] = useState<TypeBody | null>(null);
  const types = useQuery({
    queryKey: ["types"],
    queryFn: ({ signal }) => call("GET /api/v1/types", { signal }),
    refetchInterval: every(10_000),
  });
  return (
    <>
      <ScreenHead title="Task types" />
      {types.data === undefined ? (
        <Unloaded of={types} />
      ) : types.data.items.length === 0 ? (
        <Empty title="No worker is running">
          <p>Workers publish what they can run when they start.</p>
        </Empty>
      ) : (
        <ul className={css.types}>
          {types.data.items.map((type) => (
            <li key={type.name}>
              <Panel
                title={
                  <Link to="/tasks" search={{ name: type.name }}>
                    {type.name}
                  </Link>
                }
                aside={
                  maySubmit &&
                  isAmong(type.name, me?.names ?? []) && (
                    <Button icon={Play} onClick={() => setRunning(type)}>
                      Run
                    </Button>
                  )
                }
              >
                <p className={css.doc} title={type.doc}>
                  {type.doc.split(/\n\s*\n/)[0] || "No description."}
                </p>
                <p className={css.line}>
                  {type.workers} worker{type.workers === 1 ? "" : "s"}
                  {type.queues.length > 0 && `, of the queues ${type.queues.join(", ")}`}
                </p>
              </Panel>
            </li>
          ))}
        </ul>
      )}
      {running && <RunSheet type={running} onClose={() => setRunning(null)} />}
    </>
  );
}
