import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import type { TypeBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { saySubmitted } from "@/parts/submitted";
import { texts } from "@/texts";
import { type FormField, fieldsOf, nameOf, payloadOf, written } from "./form";
import css from "./Types.module.css";

/** Run a task of one type: a form where its schema is known, JSON where it is not, or where somebody prefers it. */
export function RunSheet({ type, onClose }: { type: TypeBody; onClose: () => void }) {
  const navigate = useNavigate();
  const fields = fieldsOf(type.payload_schema);
  const [entries, setEntries] = useState<Record<string, string>>({});
  const [json, setJson] = useState<string | null>(fields.length > 0 ? null : "{}");
  const [queue, setQueue] = useState(type.defaults.queue ? "" : (type.queues[0] ?? ""));
  const run = useMutation({
    mutationFn: async () => {
      const payload = rawJson(json ?? payloadOf(fields, entries), "payload");
      return call("POST /api/v1/tasks", { body: { name: type.name, payload, ...(queue ? { queue } : {}) } });
    },
    onSuccess: (stored) => {
      saySubmitted(stored);
      onClose();
      void navigate({ to: "/tasks/$id", params: { id: stored.id } });
    },
  });
  const shown = [...(json === null ? fields.map(nameOf) : ["payload"]), "queue"];
  return (
    <Sheet title={texts.types.runName(type.name)} onClose={onClose}>
      <Form error={run.error} fields={shown} onSubmit={() => run.mutate()}>
        {(at) => (
          <>
            {json === null ? (
              fields.map((field) => (
                <Field
                  key={field.name}
                  label={field.name + (field.isRequired ? "" : texts.types.optional)}
                  hint={field.hint || undefined}
                  problem={at(nameOf(field))}
                >
                  {(props) => (
                    <Input
                      field={field}
                      value={entries[field.name] ?? field.first}
                      onChange={(text) => setEntries({ ...entries, [field.name]: text })}
                      props={props}
                    />
                  )}
                </Field>
              ))
            ) : (
              <Field label={texts.common.payload} hint={texts.common.json} problem={at("payload")}>
                {(props) => (
                  <textarea
                    {...props}
                    rows={6}
                    spellCheck={false}
                    value={json}
                    onChange={(event) => setJson(event.target.value)}
                  />
                )}
              </Field>
            )}
            <Field label={texts.common.queue} problem={at("queue")} hint={texts.types.emptyForTheDefaultQueue}>
              {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
            </Field>
            <div className={css.foot}>
              {fields.length > 0 && json === null && (
                <Button tone="quiet" onClick={() => setJson(written(fields, entries))}>
                  {texts.types.editAsJson}
                </Button>
              )}
              {fields.length > 0 && json !== null && (
                <Button tone="quiet" onClick={() => setJson(null)}>
                  {texts.types.backToTheForm}
                </Button>
              )}
              <Button type="submit" tone="primary" busy={run.isPending}>
                {texts.common.run}
              </Button>
            </div>
          </>
        )}
      </Form>
    </Sheet>
  );
}

interface InputProps {
  field: FormField;
  value: string;
  onChange: (text: string) => void;
  props: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean | undefined };
}

function Input({ field, value, onChange, props }: InputProps) {
  if (field.kind === "choice" || field.kind === "boolean") {
    const choices = field.kind === "boolean" ? ["true", "false"] : field.choices;
    return (
      <Select
        {...props}
        value={value}
        choices={["", ...choices].map((choice) => ({ value: choice, label: labelOf(choice) }))}
        onChange={onChange}
      />
    );
  }
  if (field.kind === "json") {
    return (
      <textarea
        {...props}
        rows={3}
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <input
      {...props}
      aria-required={field.isRequired || undefined}
      inputMode={field.kind === "number" ? "decimal" : field.kind === "integer" ? "numeric" : "text"}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** A choice as people read it: a text without its quotes. */
function labelOf(choice: string): string {
  return choice.startsWith('"') ? (JSON.parse(choice) as string) : choice;
}
