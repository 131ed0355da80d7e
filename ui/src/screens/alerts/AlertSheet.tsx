import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { AlertBody, AlertMeasure, Severity } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { word } from "@/parts/Mark";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { Suggest } from "@/parts/Suggest";
import { useTypes } from "@/screens/tasks/types";
import { texts } from "@/texts";
import css from "./Alerts.module.css";
import { MEASURES, typedValue } from "./values";

const SEVERITIES: readonly Severity[] = ["critical", "warning", "info"];
const MEASURE_CHOICES = Object.entries(MEASURES).map(([value, { label }]) => ({
  value: value as AlertMeasure,
  label,
}));

const FIELDS = [
  "name", "measure", "threshold", "window", "for", "least", "severity", "task", "queue", "schedule", "slo", "note",
] as const; // biome-ignore format: one list
const COUNTING: readonly AlertMeasure[] = ["failure_rate", "wait_p95", "run_p95", "burn_rate"];

/** A form for an alert: what it looks at, above which value it fires, and for how long that has to be so. */
export function AlertSheet({ of, task: given, onClose }: { of?: AlertBody; task?: string; onClose: () => void }) {
  const client = useQueryClient();
  const types = useTypes();
  const [name, setName] = useState(of?.name ?? "");
  const [measure, setMeasure] = useState<AlertMeasure>(of?.measure ?? "failure_rate");
  const [threshold, setThreshold] = useState(of ? typedValue(of.measure, of.threshold) : "");
  const [span, setSpan] = useState(of?.window ? `${of.window}s` : "");
  const [hold, setHold] = useState(of?.for ? `${of.for}s` : "");
  const [least, setLeast] = useState(String(of?.least ?? 1));
  const [severity, setSeverity] = useState<Severity>(of?.severity ?? "warning");
  const [task, setTask] = useState(of?.task ?? given ?? "");
  const [queue, setQueue] = useState(of?.queue ?? "");
  const [schedule, setSchedule] = useState(of?.schedule ?? "");
  const [slo, setSlo] = useState(of?.slo ?? "");
  const [note, setNote] = useState(of?.note ?? "");
  const slos = useQuery({
    queryKey: ["slos", "all"],
    queryFn: ({ signal }) => call("GET /api/v1/slos", { query: { limit: 100 }, signal }),
    enabled: measure === "burn_rate" && !of,
  });
  const isLate = measure === "late_schedule";
  const isBurn = measure === "burn_rate";
  const save = useMutation({
    mutationFn: () => {
      const common = {
        name,
        threshold,
        for: hold || 0,
        severity,
        note: note || null,
        ...(COUNTING.includes(measure) && { least: Number(least) || 1 }),
        ...(span && measure !== "oldest_wait" && { window: span }),
        ...(isLate ? { schedule: schedule || null } : isBurn ? {} : { task: task || null, queue: queue || null }),
      };
      return of
        ? call("PATCH /api/v1/alerts/{id}", { params: { id: of.id }, body: common })
        : call("POST /api/v1/alerts", { body: { ...common, measure, ...(isBurn && { slo: slo || null }) } });
    },
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: ["alerts"] }),
  });
  const { unit, example } = MEASURES[measure];
  return (
    <Sheet
      title={of ? texts.alerts.editName(of.name) : texts.alerts.newAlert}
      onClose={onClose}
      footer={
        <Button type="submit" form="alert" tone="primary" busy={save.isPending}>
          {of ? texts.common.save : texts.alerts.createAlert}
        </Button>
      }
    >
      <Form id="alert" error={save.error} fields={FIELDS} onSubmit={() => save.mutate()}>
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <div className={css.pair}>
              <Field label={texts.alerts.measure} problem={at("measure")}>
                {(props) => (
                  <Select
                    {...props}
                    disabled={of !== undefined}
                    value={measure}
                    choices={MEASURE_CHOICES}
                    onChange={setMeasure}
                  />
                )}
              </Field>
              <Field label={texts.alerts.firesAbove} problem={at("threshold")} hint={unit}>
                {(props) => (
                  <input
                    {...props}
                    required
                    placeholder={example}
                    value={threshold}
                    onChange={(event) => setThreshold(event.target.value)}
                  />
                )}
              </Field>
            </div>
            <div className={css.pair}>
              {measure !== "oldest_wait" && (
                <Field label={texts.alerts.window} problem={at("window")} hint={texts.alerts.theTimeThatIsLooked}>
                  {(props) => (
                    <input
                      {...props}
                      placeholder={isLate || isBurn ? "1h" : "5m"}
                      value={span}
                      onChange={(event) => setSpan(event.target.value)}
                    />
                  )}
                </Field>
              )}
              <Field label={texts.alerts.for} problem={at("for")} hint={texts.alerts.howLongItHasTo}>
                {(props) => (
                  <input {...props} placeholder="0s" value={hold} onChange={(event) => setHold(event.target.value)} />
                )}
              </Field>
            </div>
            {isLate && (
              <Field label={texts.common.schedule} problem={at("schedule")} hint={texts.alerts.itsNameEmptyForAll}>
                {(props) => <input {...props} value={schedule} onChange={(event) => setSchedule(event.target.value)} />}
              </Field>
            )}
            {isBurn && !of && (
              <Field label={texts.alerts.objective} problem={at("slo")}>
                {(props) => (
                  <Select
                    {...props}
                    required
                    value={slo}
                    choices={[
                      { value: "", label: texts.alerts.chooseOne },
                      ...(slos.data?.items ?? []).map((one) => ({ value: one.id, label: one.name })),
                    ]}
                    onChange={setSlo}
                  />
                )}
              </Field>
            )}
            {!isLate && !isBurn && (
              <div className={css.pair}>
                <Field label={texts.common.task} problem={at("task")} hint={texts.alerts.emptyForAllTasks}>
                  {(props) => <Suggest {...props} value={task} suggestions={types} onChange={setTask} />}
                </Field>
                <Field label={texts.common.queue} problem={at("queue")} hint={texts.alerts.emptyForAllQueues}>
                  {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
                </Field>
              </div>
            )}
            <div className={css.pair}>
              <Field label={texts.alerts.severity} problem={at("severity")}>
                {(props) => (
                  <Select
                    {...props}
                    value={severity}
                    choices={SEVERITIES.map((one) => ({ value: one, label: word(one) }))}
                    onChange={setSeverity}
                  />
                )}
              </Field>
              {COUNTING.includes(measure) && (
                <Field label={texts.alerts.atLeast} problem={at("least")} hint={texts.alerts.tasksInTheWindowFewer}>
                  {(props) => (
                    <input
                      {...props}
                      type="number"
                      min={1}
                      value={least}
                      onChange={(event) => setLeast(event.target.value)}
                    />
                  )}
                </Field>
              )}
            </div>
            <Field label={texts.alerts.note} problem={at("note")} hint={texts.alerts.whatToDoAboutIt}>
              {(props) => (
                <textarea {...props} rows={3} value={note} onChange={(event) => setNote(event.target.value)} />
              )}
            </Field>
          </>
        )}
      </Form>
    </Sheet>
  );
}
