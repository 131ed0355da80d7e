import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { TaskWaitBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import { fieldsOf, payloadOf, type SignalField } from "./signalForm";

/** The answer to a task that waits for a signal: a form made from the type that its code declares. */
export function SignalSheet({ id, wait, onClose }: { id: string; wait: TaskWaitBody; onClose: () => void }) {
  const client = useQueryClient();
  const fields = fieldsOf(wait.schema);
  const [written, setWritten] = useState<Record<string, string>>({});
  const [json, setJson] = useState(wait.schema?.type === "boolean" ? "true" : "null");
  const [reason, setReason] = useState("");
  // One id for as long as the form is open: pressed twice, it is one signal.
  const [signal] = useState(() => `form-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`);
  const send = useMutation({
    mutationFn: async () =>
      call("POST /api/v1/tasks/{id}/signals/{name}", {
        params: { id, name: wait.name },
        body: {
          id: signal,
          payload: fields === null ? rawJson(json, "payload") : payloadOf(fields, written),
          ...(reason ? { reason } : {}),
        },
      }),
    onSuccess: (sent) => {
      say(sent.woken > 0 ? texts.task.sentTheTaskGoesOn : texts.task.sentItIsKeptUntil);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["task", id] }),
  });
  return (
    <Sheet title={texts.task.answerName(wait.name)} onClose={onClose}>
      <Form
        error={send.error}
        fields={[...(fields ?? []).map((field) => field.name), "payload", "reason"]}
        onSubmit={() => send.mutate()}
      >
        {(at) => (
          <>
            {fields === null ? (
              <Field label={texts.common.payload} problem={at("payload")} hint={texts.task.jsonAsTheTaskExpects}>
                {(props) => (
                  <textarea
                    {...props}
                    rows={4}
                    value={json}
                    spellCheck={false}
                    onChange={(event) => setJson(event.target.value)}
                  />
                )}
              </Field>
            ) : (
              fields.map((field) => (
                <Input
                  key={field.name}
                  field={field}
                  problem={at(field.name)}
                  value={written[field.name] ?? ""}
                  onChange={(text) => setWritten({ ...written, [field.name]: text })}
                />
              ))
            )}
            <Field label={texts.common.reason} hint={texts.common.forTheAuditLog} problem={at("reason")}>
              {(props) => (
                <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
              )}
            </Field>
            <Button type="submit" tone="primary" busy={send.isPending}>
              {texts.task.send}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}

interface InputProps {
  field: SignalField;
  problem: string | null;
  value: string;
  onChange: (text: string) => void;
}

function Input({ field, problem, value, onChange }: InputProps) {
  const required = field.isRequired && field.kind !== "text";
  return (
    <Field
      label={field.name}
      problem={problem}
      hint={field.hint || (field.isRequired ? undefined : texts.task.mayBeEmpty)}
    >
      {(props) =>
        field.choices.length > 0 ? (
          <Select
            {...props}
            required={required}
            value={value}
            choices={[
              { value: "", label: field.isRequired ? texts.task.choose : texts.task.notGiven },
              ...field.choices.map((choice) => ({ value: choice, label: wordOf(field, choice) })),
            ]}
            onChange={onChange}
          />
        ) : (
          <input
            {...props}
            required={required}
            inputMode={field.kind === "number" ? "decimal" : undefined}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}

function wordOf(field: SignalField, choice: string): string {
  if (field.kind === "yes or no") return choice === "true" ? texts.task.yes : texts.task.no;
  const value: unknown = JSON.parse(choice);
  return typeof value === "string" ? value : choice;
}
