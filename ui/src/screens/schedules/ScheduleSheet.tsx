import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { call } from "@/api/client";
import { encode } from "@/api/numbers";
import type { Misfire, Overlap, ScheduleBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Sheet } from "@/parts/Sheet";
import { sentence } from "@/parts/States";
import { localZone } from "@/parts/time";
import { useTypes } from "@/screens/tasks/types";
import { Fires } from "./Fires";
import css from "./Schedules.module.css";

const OVERLAPS: Record<Overlap, string> = {
  allow: "run in parallel",
  skip: "skip the next",
  queue: "wait for the last",
  cancel_previous: "cancel the last",
};
const MISFIRES: Record<Misfire, string> = { skip: "skip them", once: "run once", all: "run each" };

/** A form for a schedule; what it will do is shown while it is written. */
export function ScheduleSheet({
  of,
  onClose,
  onSaved,
}: {
  of?: ScheduleBody;
  onClose: () => void;
  onSaved: (schedule: ScheduleBody) => void;
}) {
  const client = useQueryClient();
  const types = useTypes();
  const [name, setName] = useState(of?.name ?? "");
  const [kind, setKind] = useState<"cron" | "interval">(of?.interval ? "interval" : "cron");
  const [rule, setRule] = useState(of?.cron ?? (of?.interval ? `${of.interval}` : "0 9 * * *"));
  const [zone, setZone] = useState(of?.timezone ?? localZone());
  const [task, setTask] = useState(of?.task?.name ?? "");
  const [payload, setPayload] = useState(encode(of?.task?.payload ?? {}, 2));
  const [overlap, setOverlap] = useState<Overlap>(of?.overlap ?? "allow");
  const [misfire, setMisfire] = useState<Misfire>(of?.misfire ?? "once");
  const asked = useDeferredValue({ [kind]: rule, timezone: zone, count: 5 });
  const preview = useQuery({
    queryKey: ["preview", asked],
    queryFn: ({ signal }) => call("POST /api/v1/schedules/preview", { body: asked, signal }),
    placeholderData: keepPreviousData,
    retry: false,
    enabled: rule.trim() !== "",
  });
  const save = useMutation({
    mutationFn: async () => {
      const common = { name, [kind]: rule, timezone: zone, overlap, misfire };
      const target = of?.job
        ? {}
        : { task: { ...(of?.task ?? {}), name: task, payload: rawJson(payload, "task.payload") } };
      return of
        ? call("PATCH /api/v1/schedules/{id}", { params: { id: of.id }, body: { ...common, ...target } })
        : call("POST /api/v1/schedules", { body: { ...common, ...target } });
    },
    onSuccess: (schedule) => {
      onClose();
      onSaved(schedule);
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedules"] }),
  });
  const shown = [
    "name",
    kind,
    "overlap",
    "misfire",
    ...(kind === "cron" ? ["timezone"] : []),
    ...(of?.job ? [] : ["task", "task.payload"]),
  ];
  return (
    <Sheet title={of ? `Edit ${of.name}` : "New schedule"} onClose={onClose}>
      <Form error={save.error ?? preview.error} fields={shown} onSubmit={() => save.mutate()}>
        {(at) => (
          <>
            <Field label="Name" problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <div className={css.two}>
              <Field label="Rule">
                {(props) => (
                  <select
                    {...props}
                    value={kind}
                    onChange={(event) => {
                      const next = event.target.value === "interval" ? "interval" : "cron";
                      setKind(next);
                      setRule(next === "interval" ? "15m" : "0 9 * * *");
                    }}
                  >
                    <option value="cron">Cron</option>
                    <option value="interval">Interval</option>
                  </select>
                )}
              </Field>
              <Field label={kind === "cron" ? "Expression" : "Every"} problem={at(kind)}>
                {(props) => (
                  <input
                    {...props}
                    required
                    value={rule}
                    spellCheck={false}
                    onChange={(event) => setRule(event.target.value)}
                  />
                )}
              </Field>
            </div>
            {kind === "cron" && (
              <Field label="Time zone" problem={at("timezone")}>
                {(props) => (
                  <input
                    {...props}
                    list="zones"
                    required
                    value={zone}
                    onChange={(event) => setZone(event.target.value)}
                  />
                )}
              </Field>
            )}
            <datalist id="zones">
              {Intl.supportedValuesOf("timeZone").map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
            {preview.data && !preview.isError && (
              <div className={css.preview} aria-live="polite">
                <strong>{sentence(preview.data.words)}</strong>
                <Fires of={preview.data.items} zone={preview.data.timezone} />
              </div>
            )}
            {!of?.job && (
              <>
                <Field label="Task" problem={at("task")}>
                  {(props) => (
                    <input
                      {...props}
                      list="scheduled-types"
                      required
                      value={task}
                      onChange={(event) => setTask(event.target.value)}
                    />
                  )}
                </Field>
                <datalist id="scheduled-types">
                  {types.map((type) => (
                    <option key={type} value={type} />
                  ))}
                </datalist>
                <Field label="Payload" problem={at("task.payload")}>
                  {(props) => (
                    <textarea
                      {...props}
                      rows={4}
                      spellCheck={false}
                      value={payload}
                      onChange={(event) => setPayload(event.target.value)}
                    />
                  )}
                </Field>
              </>
            )}
            <div className={css.two}>
              <Field label="Overlapping runs" problem={at("overlap")}>
                {(props) => (
                  <select {...props} value={overlap} onChange={(event) => setOverlap(event.target.value as Overlap)}>
                    {Object.entries(OVERLAPS).map(([value, words]) => (
                      <option key={value} value={value}>
                        {words}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
              <Field label="Missed runs" problem={at("misfire")}>
                {(props) => (
                  <select {...props} value={misfire} onChange={(event) => setMisfire(event.target.value as Misfire)}>
                    {Object.entries(MISFIRES).map(([value, words]) => (
                      <option key={value} value={value}>
                        {words}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            </div>
            <Button type="submit" tone="primary" busy={save.isPending}>
              {of ? "Save" : "Create"}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
