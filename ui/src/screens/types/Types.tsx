import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import { every } from "@/api/queries";
import type { TypeBody } from "@/api/types";
import { type Usual, useUsual } from "@/api/usual";
import { Button } from "@/parts/Button";
import { useRemembered } from "@/parts/neighbours";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { span } from "@/parts/time";
import { texts } from "@/texts";
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
  const names = types.data?.items.map((type) => type.name) ?? [];
  useRemembered("/types", names);
  const usual = useUsual(names);
  return (
    <>
      <ScreenHead title={texts.common.taskTypes} />
      {types.data === undefined ? (
        <Unloaded of={types} />
      ) : types.data.items.length === 0 ? (
        <Empty title={texts.types.noWorkerIsRunning}>
          <p>{texts.types.workersPublishWhatTheyCan}</p>
        </Empty>
      ) : (
        <ul className={css.types}>
          {types.data.items.map((type) => (
            <li key={type.name}>
              <Panel
                title={
                  <Link to="/types/$name" params={{ name: type.name }}>
                    {type.name}
                  </Link>
                }
                aside={
                  maySubmit &&
                  isAmong(type.name, me?.names ?? []) && (
                    <Button icon={Play} onClick={() => setRunning(type)}>
                      {texts.common.run}
                    </Button>
                  )
                }
              >
                <p className={css.doc} title={type.doc}>
                  {type.doc.split(/\n\s*\n/)[0] || texts.types.noDescription}
                </p>
                <p className={css.line}>
                  {usual.has(type.name) ? usualWords(usual.get(type.name)) : texts.types.notRunEnoughToSay}
                </p>
                <p className={css.line} title={type.queues.join(", ") || undefined}>
                  {texts.types.servedBy(type.workers, type.queues.length)}
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

function usualWords(usual: Usual | undefined): string {
  if (!usual) return "";
  return texts.types.usual(span(usual.p50), span(usual.p95), usual.runs);
}
