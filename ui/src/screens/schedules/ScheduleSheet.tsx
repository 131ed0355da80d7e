import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { call } from "@/api/client";
import { encode } from "@/api/numbers";
import type { Misfire, Overlap, ScheduleBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { Suggest } from "@/parts/Suggest";
import { sentence } from "@/parts/sentence";
import { localZone } from "@/parts/time";
import { useTypes } from "@/screens/tasks/types";
import { texts } from "@/texts";
import { KINDS, MISFIRES, OVERLAPS } from "./choices";
import { Fires } from "./Fires";
import css from "./Schedules.module.css";

let known: string[] | undefined;
function zones(): string[] {
  known ??= ["UTC", ...Intl.supportedValuesOf("timeZone")];
  return known;
}

/** A form for a schedule; what it will do is shown while it is written. */
export function ScheduleSheet({
  of,
  isCopy = false,
  onClose,
  onSaved,
}: {
  of?: ScheduleBody;
  /** Whether to create another one like `of`, and not to change it. */
  isCopy?: boolean;
  onClose: () => void;
  onSaved: (schedule: ScheduleBody) => void;
}) {
  const client = useQueryClient();
  const types = useTypes();
  const [name, setName] = useState(of ? (isCopy ? texts.schedules.copyOf(of.name) : of.name) : "");
  const [kind, setKind] = useState<"cron" | "interval">(of?.interval ? "interval" : "cron");
  const [rule, setRule] = useState(of?.cron ?? (of?.interval ? `${of.interval}` : "0 9 * * *"));
  const [zone, setZone] = useState(of?.timezone ?? localZone());
  const [task, setTask] = useState(of?.task?.name ?? "");
  const unchanged = encode(of?.task?.payload ?? {}, 2);
  const [payload, setPayload] = useState(unchanged);
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
        ? isCopy
          ? { job: of.job }
          : {}
        : {
            task: {
              ...of?.task,
              name: task,
              ...(payload !== unchanged && { payload: rawJson(payload, "task.payload") }),
            },
          };
      return of && !isCopy
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
    <Sheet
      title={of ? `${isCopy ? texts.schedules.duplicate : texts.common.edit} ${of.name}` : texts.schedules.newSchedule}
      onClose={onClose}
    >
      <Form error={save.error} previewError={preview.error} fields={shown} onSubmit={() => save.mutate()}>
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <div className={css.two}>
              <Field label={texts.schedules.rule}>
                {(props) => (
                  <Select
                    {...props}
                    value={kind}
                    choices={KINDS}
                    onChange={(next) => {
                      setKind(next);
                      setRule(next === "interval" ? "15m" : "0 9 * * *");
                    }}
                  />
                )}
              </Field>
              <Field label={kind === "cron" ? texts.schedules.expression : texts.schedules.every} problem={at(kind)}>
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
              <Field label={texts.schedules.timeZone} problem={at("timezone")}>
                {(props) => <Suggest {...props} required value={zone} suggestions={zones()} onChange={setZone} />}
              </Field>
            )}
            {preview.data && !preview.isError && (
              <div className={css.preview} aria-live="polite">
                <strong>{sentence(preview.data.words)}</strong>
                <Fires of={preview.data.items} zone={preview.data.timezone} />
              </div>
            )}
            {!of?.job && (
              <>
                <Field label={texts.common.task} problem={at("task")}>
                  {(props) => <Suggest {...props} required value={task} suggestions={types} onChange={setTask} />}
                </Field>
                <Field label={texts.common.payload} problem={at("task.payload")}>
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
              <Field label={texts.schedules.overlappingRuns} problem={at("overlap")}>
                {(props) => <Select {...props} value={overlap} choices={OVERLAPS} onChange={setOverlap} />}
              </Field>
              <Field label={texts.schedules.missedRuns} problem={at("misfire")}>
                {(props) => <Select {...props} value={misfire} choices={MISFIRES} onChange={setMisfire} />}
              </Field>
            </div>
            <Button type="submit" tone="primary" busy={save.isPending}>
              {of && !isCopy ? texts.common.save : texts.schedules.create}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
