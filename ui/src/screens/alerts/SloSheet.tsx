import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { type Choice, Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { Suggest } from "@/parts/Suggest";
import { span } from "@/parts/time";
import { useTypes } from "@/screens/tasks/types";
import { texts } from "@/texts";
import css from "./Alerts.module.css";

const OBJECTIVES: readonly Choice<"success" | "start">[] = [
  { value: "success", label: texts.alerts.succeed },
  { value: "start", label: texts.alerts.startInTime },
];
const PERIODS = [
  { value: "7d", label: texts.alerts.n7Days },
  { value: "30d", label: texts.alerts.n30Days },
];

const FIELDS = ["name", "task", "objective", "within", "target", "period", "alerts"];
/** The bounds of the classes of durations that are counted; the server refuses others. */
const WITHIN = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800];

/** A form for an objective. */
export function SloSheet({ task: given = "", onClose }: { task?: string; onClose: () => void }) {
  const client = useQueryClient();
  const types = useTypes();
  const [name, setName] = useState("");
  const [task, setTask] = useState(given);
  const [objective, setObjective] = useState<"success" | "start">("success");
  const [within, setWithin] = useState(5);
  const [target, setTarget] = useState("99.5");
  const [period, setPeriod] = useState("30d");
  const [alerts, setAlerts] = useState(true);
  const make = useMutation({
    mutationFn: () =>
      call("POST /api/v1/slos", {
        body: {
          name,
          task,
          objective,
          target: Number((Number(target) / 100).toFixed(7)),
          period,
          alerts,
          ...(objective === "start" && { within }),
        },
      }),
    onSuccess: onClose,
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["slos"] }),
        client.invalidateQueries({ queryKey: ["alerts"] }),
      ]),
  });
  return (
    <Sheet
      title={texts.alerts.newObjective}
      onClose={onClose}
      footer={
        <Button type="submit" form="slo" tone="primary" busy={make.isPending}>
          {texts.alerts.createObjective}
        </Button>
      }
    >
      <Form id="slo" error={make.error} fields={FIELDS} onSubmit={() => make.mutate()}>
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label={texts.common.task} problem={at("task")}>
              {(props) => <Suggest {...props} required value={task} suggestions={types} onChange={setTask} />}
            </Field>
            <div className={css.pair}>
              <Field label={texts.alerts.tasksHaveTo} problem={at("objective")}>
                {(props) => <Select {...props} value={objective} choices={OBJECTIVES} onChange={setObjective} />}
              </Field>
              {objective === "start" && (
                <Field label={texts.alerts.within} problem={at("within")}>
                  {(props) => (
                    <Select
                      {...props}
                      value={`${within}`}
                      choices={WITHIN.map((seconds) => ({ value: `${seconds}`, label: span(seconds) }))}
                      onChange={(chosen) => setWithin(Number(chosen))}
                    />
                  )}
                </Field>
              )}
            </div>
            <div className={css.pair}>
              <Field label={texts.alerts.targetInPercent} problem={at("target")}>
                {(props) => (
                  <input
                    {...props}
                    required
                    type="number"
                    min={50}
                    max={99.999}
                    step="any"
                    value={target}
                    onChange={(event) => setTarget(event.target.value)}
                  />
                )}
              </Field>
              <Field label={texts.alerts.over} problem={at("period")}>
                {(props) => <Select {...props} value={period} choices={PERIODS} onChange={setPeriod} />}
              </Field>
            </div>
            <label className={css.check}>
              <input type="checkbox" checked={alerts} onChange={(event) => setAlerts(event.target.checked)} />
              {texts.alerts.alertOnBurn}
            </label>
          </>
        )}
      </Form>
    </Sheet>
  );
}
