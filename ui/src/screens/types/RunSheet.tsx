import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call } from "@/api/client";
import { RawJson } from "@/api/numbers";
import { Problem } from "@/api/problem";
import type { TypeBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";
import { sentence } from "@/parts/States";
import { say } from "@/parts/toasts";
import { type FormField, fieldsOf, payloadOf } from "./form";
import css from "./Types.module.css";

/** Run a task of one type: a form where its schema is known, JSON where it is not. */
export function RunSheet({ type, onClose }: { type: TypeBody; onClose: () => void }) {
  const navigate = useNavigate();
  const fields = fieldsOf(type.payload_schema);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [json, setJson] = useState("{}");
  const [queue, setQueue] = useState(type.queues[0] ?? "default");
  const run = useMutation({
    mutationFn: async () => {
      let payload: string;
      try {
        payload = fields.length ? payloadOf(fields, texts) : json;
        JSON.parse(payload);
      } catch (error) {
        throw new Problem(0, "malformed", `is not JSON: ${error instanceof Error ? error.message : error}`, "payload");
      }
      return call("POST /api/v1/tasks", { body: { name: type.name, queue, payload: new RawJson(payload) } });
    },
    onSuccess: (stored) => {
      say("Submitted");
      onClose();
      void navigate({ to: "/tasks/$id", params: { id: stored.id } });
    },
  });
  const problem = run.error instanceof Problem ? run.error : null;
  const at = (name: string) =>
    problem?.field === name || problem?.field === `payload.${name}` ? sentence(problem.message) : null;
  const isPlaced =
    problem !== null && [...fields.map((field) => field.name), "queue", "payload"].some((name) => at(name));
  return (
    <Sheet title={`Run ${type.name}`} onClose={onClose}>
      <form
        className={css.form}
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        {fields.map((field) => (
          <Field
            key={field.name}
            label={field.name + (field.isRequired ? "" : " (optional)")}
            hint={field.hint || undefined}
            problem={at(field.name)}
          >
            {(props) => (
              <Input
                field={field}
                value={texts[field.name] ?? field.first}
                onChange={(text) => setTexts({ ...texts, [field.name]: text })}
                props={props}
              />
            )}
          </Field>
        ))}
        {fields.length === 0 && (
          <Field label="Payload" hint="JSON" problem={at("payload")}>
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
        <Field label="Queue" problem={at("queue")}>
          {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
        </Field>
        {problem && !isPlaced && (
          <p role="alert" className={css.problem}>
            {sentence(problem.message)}
          </p>
        )}
        <Button type="submit" tone="primary" busy={run.isPending}>
          Run
        </Button>
      </form>
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
      <select {...props} required={field.isRequired} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="" />
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (field.kind === "json") {
    return (
      <textarea
        {...props}
        rows={3}
        spellCheck={false}
        required={field.isRequired}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <input
      {...props}
      inputMode={field.kind === "number" ? "decimal" : "text"}
      required={field.isRequired && field.kind === "number"}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
