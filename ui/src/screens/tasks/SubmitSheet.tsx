import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import type { TaskRequest } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Sheet } from "@/parts/Sheet";
import { saySubmitted } from "@/parts/submitted";
import css from "./SubmitSheet.module.css";
import { useTypes } from "./types";

type Option = Exclude<keyof TaskRequest, "name" | "payload" | "queue" | "delay" | "idempotencyKey">;

interface OptionField {
  label: string;
  hint: string;
  /** Makes the value that is sent from what somebody wrote; as it is written unless said otherwise. */
  read?: (text: string) => unknown;
}

/** The fields that few tasks need. A new field of a task request has to be listed here, or this does not compile. */
const OPTIONS: Record<Option, OptionField> = {
  run_at: { label: "Run at", hint: "A time such as 2030-01-02T03:04:05Z, in place of a delay" },
  priority: { label: "Priority", hint: "From -100 to 100, or critical, high, normal, low" },
  retries: {
    label: "Retries",
    hint: "How often to try again after a failure",
    read: (text) => rawJson(text, "retries"),
  },
  backoff: {
    label: "Backoff",
    hint: 'Seconds before the first retry, or JSON such as {"base": 2, "factor": 2}',
    read: (text) => rawJson(text, "backoff"),
  },
  timeout: { label: "Timeout", hint: "Stop an attempt that takes longer: seconds, or a text such as 1h30m" },
  expires: { label: "Expires", hint: "Cancel it if it has not started so long after it was due: 10m, for example" },
  tags: {
    label: "Tags",
    hint: "Words to find it by, separated by commas",
    read: (text) => text.split(",").map((tag) => tag.trim()),
  },
  idempotency_key: { label: "Idempotency key", hint: "Submitted twice under one key, a task is stored once" },
  collapse: {
    label: "Collapse",
    hint: 'Let an earlier task stand for it, as JSON such as {"debounce": "5s", "key": "invoice 7"}',
    read: (text) => rawJson(text, "collapse"),
  },
  limit_key: { label: "Limit key", hint: "Whose limit it counts to, where a limit has keys" },
  notify: {
    label: "Notify",
    hint: 'Whom to tell when it ends, as JSON such as [{"email": "ada@example.org"}]',
    read: (text) => rawJson(text, "notify"),
  },
};
const OPTION_NAMES = Object.keys(OPTIONS) as Option[];

function optionsOf(written: Partial<Record<Option, string>>): Partial<TaskRequest> {
  const given = OPTION_NAMES.filter((name) => written[name]?.trim());
  return Object.fromEntries(given.map((name) => [name, (OPTIONS[name].read ?? String)(written[name] ?? "")]));
}

/** A form to submit one task. */
export function SubmitSheet({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const types = useTypes();
  const [name, setName] = useState("");
  const [payload, setPayload] = useState("{}");
  const [queue, setQueue] = useState("");
  const [delay, setDelay] = useState("");
  const [options, setOptions] = useState<Partial<Record<Option, string>>>({});
  const submit = useMutation({
    mutationFn: async () =>
      call("POST /api/v1/tasks", {
        body: {
          name,
          payload: rawJson(payload, "payload"),
          ...(queue ? { queue } : {}),
          ...(delay ? { delay } : {}),
          ...optionsOf(options),
        },
      }),
    onSuccess: (stored) => {
      saySubmitted(stored);
      onClose();
      void navigate({ to: "/tasks/$id", params: { id: stored.id } });
    },
  });
  return (
    <Sheet title="Submit a task" onClose={onClose}>
      <Form
        error={submit.error}
        fields={["name", "payload", "queue", "delay", ...OPTION_NAMES]}
        onSubmit={() => submit.mutate()}
      >
        {(at) => (
          <>
            <Field label="Name" problem={at("name")} hint="The type of the task; workers list the types they can run">
              {(props) => (
                <input
                  {...props}
                  list="types"
                  required
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <datalist id="types">
              {types.map((type) => (
                <option key={type} value={type} />
              ))}
            </datalist>
            <Field label="Payload" problem={at("payload")} hint="JSON, handed to the task as its arguments">
              {(props) => (
                <textarea
                  {...props}
                  rows={6}
                  value={payload}
                  spellCheck={false}
                  onChange={(event) => setPayload(event.target.value)}
                />
              )}
            </Field>
            <Field label="Queue" problem={at("queue")} hint="Empty for the usual queue of its type">
              {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
            </Field>
            <Field label="Delay" problem={at("delay")} hint="Seconds, or a text such as 1h30m; empty for now">
              {(props) => <input {...props} value={delay} onChange={(event) => setDelay(event.target.value)} />}
            </Field>
            <details open={OPTION_NAMES.some((option) => at(option) !== null) || undefined}>
              <summary>More options</summary>
              <div className={css.options}>
                {OPTION_NAMES.map((option) => (
                  <Field key={option} label={OPTIONS[option].label} problem={at(option)} hint={OPTIONS[option].hint}>
                    {(props) => (
                      <input
                        {...props}
                        value={options[option] ?? ""}
                        onChange={(event) => setOptions({ ...options, [option]: event.target.value })}
                      />
                    )}
                  </Field>
                ))}
              </div>
            </details>
            <Button type="submit" tone="primary" busy={submit.isPending}>
              Submit
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
