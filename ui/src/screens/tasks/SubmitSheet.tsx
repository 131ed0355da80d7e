import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";
import { sentence } from "@/parts/States";
import { say } from "@/parts/toasts";
import { useTypes } from "./types";

/** A form to submit one task. */
export function SubmitSheet({ onClose, name: first = "" }: { onClose: () => void; name?: string }) {
  const navigate = useNavigate();
  const types = useTypes();
  const [name, setName] = useState(first);
  const [payload, setPayload] = useState("{}");
  const [queue, setQueue] = useState("default");
  const [delay, setDelay] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setProblem(null);
    let parsed: unknown;
    try {
      parsed = JSON.parse(payload);
    } catch (error) {
      setProblem(
        new Problem(0, "malformed", `is not JSON: ${error instanceof Error ? error.message : error}`, "payload"),
      );
      return;
    }
    setBusy(true);
    try {
      const body = { name, queue, payload: parsed, ...(delay ? { delay } : {}) };
      const stored = await call("POST /api/v1/tasks", { body });
      say("Submitted");
      onClose();
      void navigate({ to: "/tasks/$id", params: { id: stored.id } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    } finally {
      setBusy(false);
    }
  }

  const fields = ["name", "payload", "queue", "delay"];
  const at = (field: string) => (problem?.field?.split(/[.[]/)[0] === field ? sentence(problem.message) : null);
  return (
    <Sheet title="Submit a task" onClose={onClose}>
      <form id="submit" onSubmit={(event) => void submit(event)} style={{ display: "grid", gap: 14 }}>
        <Field label="Name" problem={at("name")} hint="What kind of work it is; workers say which they can do">
          {(props) => (
            <input {...props} list="types" required value={name} onChange={(event) => setName(event.target.value)} />
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
        <Field label="Queue" problem={at("queue")}>
          {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
        </Field>
        <Field label="Delay" problem={at("delay")} hint="Seconds, or a text such as 1h30m; empty for now">
          {(props) => <input {...props} value={delay} onChange={(event) => setDelay(event.target.value)} />}
        </Field>
        {problem && !fields.some((field) => at(field)) && <p role="alert">{sentence(problem.message)}</p>}
        <Button type="submit" tone="primary" busy={isBusy}>
          Submit
        </Button>
      </form>
    </Sheet>
  );
}
