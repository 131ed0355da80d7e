import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { invalid, Problem } from "@/api/problem";
import type { JobRequest } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Sheet } from "@/parts/Sheet";
import { Suggest } from "@/parts/Suggest";
import { saySubmitted } from "@/parts/submitted";
import { Tabs } from "@/parts/Tabs";
import { useTypes } from "@/screens/tasks/types";
import { texts } from "@/texts";
import css from "./JobSheet.module.css";
import { documentOf, EMPTY, fieldOf, type JobDraft, type TaskRow, tasksOf } from "./jobForm";

const WAYS = [
  { id: "list", label: texts.common.tasks },
  { id: "json", label: texts.common.json },
];
const PARTS = ["key", "name", "needs", "payload"] as const;
/** Tasks of a job that are filled in as fields; more are easier to read as JSON. */
const MOST_FIELDS = 20;
const REDACTED = "[redacted]";

interface SheetProps {
  /** What the form is filled in with. */
  like?: JobDraft;
  onClose: () => void;
}

/** A form to submit a job: task by task, or as the JSON that the API takes, with every option there is. */
export function JobSheet({ like, onClose }: SheetProps) {
  const navigate = useNavigate();
  const [way, setWay] = useState(like && like.rows.length > MOST_FIELDS ? "json" : "list");
  const [name, setName] = useState(like?.name ?? "");
  const [rows, setRows] = useState<TaskRow[]>(like?.rows ?? [{ ...EMPTY, id: 1 }]);
  const [document, setDocument] = useState(like ? documentOf(like.name, like.rows, like.options) : "");
  const submit = useMutation({
    mutationFn: async () => {
      if (way === "json") return call("POST /api/v1/jobs", { body: rawJson(document, "document") as never });
      return call("POST /api/v1/jobs", { body: { name, ...like?.options, tasks: tasksOf(rows) } as JobRequest });
    },
    onSuccess: (stored) => {
      saySubmitted({ warnings: stored.warnings ?? [] });
      onClose();
      if (stored.id) void navigate({ to: "/jobs/$id", params: { id: stored.id } });
      else void navigate({ to: "/schedules" });
    },
  });
  const fields =
    way === "json"
      ? ["document"]
      : ["name", ...rows.flatMap((_, place) => PARTS.map((part) => `rows[${place}].${part}`))];
  return (
    <Sheet
      title={like ? texts.tasks.runNameAgain(like.name) : texts.jobs.submitAJob}
      onClose={onClose}
      footer={
        <Button type="submit" form="job" tone="primary" busy={submit.isPending}>
          {texts.jobs.submit}
        </Button>
      }
    >
      <Tabs
        label={texts.jobs.howToWriteIt}
        tabs={WAYS}
        current={way}
        onChange={(next) => {
          if (next === "json") setDocument(documentOf(name, rows, like?.options));
          submit.reset();
          setWay(next);
        }}
      />
      <Form id="job" error={placedError(submit.error, rows, way)} fields={fields} onSubmit={() => submit.mutate()}>
        {(at) =>
          way === "json" ? (
            <Field label={texts.jobs.job} problem={at("document")} hint={hintOf(document, texts.jobs.asPostApiV1Jobs)}>
              {(props) => (
                <textarea
                  {...props}
                  rows={18}
                  required
                  spellCheck={false}
                  value={document}
                  onChange={(event) => setDocument(event.target.value)}
                />
              )}
            </Field>
          ) : (
            <>
              <Field label={texts.common.name} problem={at("name")} hint={texts.jobs.whatTheRunsOfThis}>
                {(props) => (
                  <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />
                )}
              </Field>
              <TaskList rows={rows} onRows={setRows} at={at} />
            </>
          )
        }
      </Form>
    </Sheet>
  );
}

interface ListProps {
  rows: TaskRow[];
  onRows: (rows: TaskRow[]) => void;
  at: (field: string) => string | null;
}

function TaskList({ rows, onRows, at }: ListProps) {
  const types = useTypes();
  const change = (id: number, part: Partial<TaskRow>) =>
    onRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <>
      {rows.map((row, place) => (
        <fieldset key={row.id} className={css.task}>
          <legend>{texts.jobs.taskNumber(place + 1)}</legend>
          <div className={css.fields}>
            <Field label={texts.jobs.key} problem={at(`rows[${place}].key`)}>
              {(props) => (
                <input {...props} value={row.key} onChange={(event) => change(row.id, { key: event.target.value })} />
              )}
            </Field>
            <Field label={texts.jobs.type} problem={at(`rows[${place}].name`)}>
              {(props) => (
                <Suggest
                  {...props}
                  value={row.name}
                  suggestions={types}
                  onChange={(name) => change(row.id, { name })}
                />
              )}
            </Field>
            <Field label={texts.jobs.needs} problem={at(`rows[${place}].needs`)} hint={texts.jobs.keysOfTasksThatRun}>
              {(props) => (
                <input
                  {...props}
                  value={row.needs}
                  onChange={(event) => change(row.id, { needs: event.target.value })}
                />
              )}
            </Field>
            <Field
              label={texts.common.payload}
              problem={at(`rows[${place}].payload`)}
              hint={hintOf(row.payload, texts.jobs.resultKeyIsWhatAnother)}
            >
              {(props) => (
                <textarea
                  {...props}
                  rows={Math.min(6, Math.max(2, row.payload.split("\n").length))}
                  spellCheck={false}
                  value={row.payload}
                  onChange={(event) => change(row.id, { payload: event.target.value })}
                />
              )}
            </Field>
          </div>
          {rows.length > 1 && (
            <IconButton
              icon={Trash2}
              label={texts.jobs.removeTaskPlace(place + 1)}
              onClick={() => onRows(rows.filter(({ id }) => id !== row.id))}
            />
          )}
        </fieldset>
      ))}
      <Button
        icon={Plus}
        onClick={() => onRows([...rows, { ...EMPTY, id: Math.max(...rows.map(({ id }) => id)) + 1 }])}
      >
        {texts.jobs.addATask}
      </Button>
    </>
  );
}

/** The hint of a payload: what the server has hidden has to be filled in again. */
function hintOf(text: string, otherwise: string): string {
  return text.includes(REDACTED) ? texts.tasks.replaceRedactedTheValuesWere(REDACTED) : otherwise;
}

/** What was refused, at the fields of the form. */
function placedError(error: unknown, rows: TaskRow[], way: string): unknown {
  if (!(error instanceof Problem) || error.field === null || Object.keys(error.faults).length > 0) return error;
  if (way === "json") return invalid({ document: `${error.field}: ${error.message}` });
  return new Problem(error.status, error.code, error.message, fieldOf(error.field, rows));
}
