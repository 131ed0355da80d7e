import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Sheet } from "@/parts/Sheet";
import { saySubmitted } from "@/parts/submitted";
import { useTypes } from "./types";

/** A form to submit one task. */
export function SubmitSheet({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const types = useTypes();
  const [name, setName] = useState("");
  const [payload, setPayload] = useState("{}");
  const [queue, setQueue] = useState("");
  const [delay, setDelay] = useState("");
  const submit = useMutation({
    mutationFn: async () =>
      call("POST /api/v1/tasks", {
        body: {
          name,
          payload: rawJson(payload, "payload"),
          ...(queue ? { queue } : {}),
          ...(delay ? { delay } : {}),
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
      <Form error={submit.error} fields={["name", "payload", "queue", "delay"]} onSubmit={() => submit.mutate()}>
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
            <Button type="submit" tone="primary" busy={submit.isPending}>
              Submit
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
