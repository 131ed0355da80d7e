import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import { encode } from "@/api/numbers";
import type { TaskBody, TaskRequest } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { rawJson } from "@/parts/json";
import { Sheet } from "@/parts/Sheet";
import { Suggest } from "@/parts/Suggest";
import { notifyLike } from "@/parts/snippets";
import { saySubmitted } from "@/parts/submitted";
import { texts } from "@/texts";
import css from "./SubmitSheet.module.css";
import { useTypes } from "./types";

const REDACTED = "[redacted]";

type Option = Exclude<keyof TaskRequest, "name" | "payload" | "queue" | "delay" | "idempotencyKey">;

interface OptionField {
  label: string;
  hint: string;
  /** Makes the value that is sent from what somebody wrote; as it is written unless said otherwise. */
  read?: (text: string) => unknown;
}

/** The fields that few tasks need. A new field of a task request has to be listed here, or this does not compile. */
const OPTIONS: Record<Option, OptionField> = {
  run_at: { label: texts.tasks.runAt, hint: texts.tasks.aTimeSuchAs2030 },
  priority: { label: texts.tasks.priority, hint: texts.tasks.from100To100Or },
  retries: {
    label: texts.tasks.retries,
    hint: texts.tasks.howOftenToTryAgain,
    read: (text) => rawJson(text, "retries"),
  },
  backoff: {
    label: texts.tasks.backoff,
    hint: texts.tasks.secondsBeforeTheFirstRetry,
    read: (text) => rawJson(text, "backoff"),
  },
  timeout: { label: texts.tasks.timeout, hint: texts.tasks.stopAnAttemptThatTakes },
  expires: { label: texts.tasks.expires, hint: texts.tasks.cancelItIfItHas },
  tags: {
    label: texts.common.tags,
    hint: texts.tasks.separatedByCommas,
    read: (text) => text.split(",").map((tag) => tag.trim()),
  },
  idempotency_key: { label: texts.common.idempotencyKey, hint: texts.tasks.submissionsWithTheSameKey },
  collapse: {
    label: texts.tasks.collapse,
    hint: texts.tasks.mergeWithAnEarlierTask,
    read: (text) => rawJson(text, "collapse"),
  },
  limit_key: { label: texts.tasks.limitKey, hint: texts.tasks.theKeyForLimitsThat },
  notify: {
    label: texts.tasks.notify,
    hint: texts.tasks.whoIsNotifiedWhenIt,
    read: (text) => rawJson(text, "notify"),
  },
};
const OPTION_NAMES = Object.keys(OPTIONS) as Option[];

function optionsOf(written: Partial<Record<Option, string>>): Partial<TaskRequest> {
  const given = OPTION_NAMES.filter((name) => written[name]?.trim());
  return Object.fromEntries(given.map((name) => [name, (OPTIONS[name].read ?? String)(written[name] ?? "")]));
}

/** The options of a task as the form shows them; without its idempotency key and collapse rule, which would lead back to the task there is. */
function writtenOptions(task: TaskBody | undefined): Partial<Record<Option, string>> {
  if (!task) return {};
  return {
    retries: String(task.retries),
    backoff: encode(task.backoff),
    ...(task.notify.length ? { notify: encode(notifyLike(task.notify)) } : {}),
    ...(task.priority ? { priority: String(task.priority) } : {}),
    ...(task.timeout === null ? {} : { timeout: String(task.timeout) }),
    ...(task.tags.length ? { tags: task.tags.join(", ") } : {}),
    ...(task.limit_key === null ? {} : { limit_key: task.limit_key }),
  };
}

/** Let a field have the focus when its dialog opens, in place of the button that closes it. */
function first(field: HTMLTextAreaElement | null): void {
  field?.setAttribute("autofocus", "");
}

/** A form to submit one task; with `like`, filled in with what another one was given. */
export function SubmitSheet({ like, onClose }: { like?: TaskBody; onClose: () => void }) {
  const navigate = useNavigate();
  const types = useTypes();
  const [name, setName] = useState(like?.name ?? "");
  const [payload, setPayload] = useState(like ? encode(like.payload ?? null, 2) : "{}");
  const [queue, setQueue] = useState(like?.queue ?? "");
  const [delay, setDelay] = useState("");
  const [options, setOptions] = useState<Partial<Record<Option, string>>>(() => writtenOptions(like));
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
    <Sheet title={like ? texts.tasks.runNameAgain(like.name) : texts.tasks.submitATask} onClose={onClose}>
      <Form
        error={submit.error}
        fields={["name", "payload", "queue", "delay", ...OPTION_NAMES]}
        onSubmit={() => submit.mutate()}
      >
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")} hint={texts.tasks.theTypeOfTheTask}>
              {(props) => <Suggest {...props} required value={name} suggestions={types} onChange={setName} />}
            </Field>
            <Field
              label={texts.common.payload}
              problem={at("payload")}
              hint={
                like && payload.includes(REDACTED)
                  ? texts.tasks.replaceRedactedTheValuesWere(REDACTED)
                  : texts.tasks.jsonPassedToTheTask
              }
            >
              {(props) => (
                <textarea
                  {...props}
                  ref={like ? first : null}
                  rows={6}
                  value={payload}
                  spellCheck={false}
                  onChange={(event) => setPayload(event.target.value)}
                />
              )}
            </Field>
            <Field label={texts.common.queue} problem={at("queue")} hint={texts.tasks.emptyForTheDefaultQueue}>
              {(props) => <input {...props} value={queue} onChange={(event) => setQueue(event.target.value)} />}
            </Field>
            <Field label={texts.tasks.delay} problem={at("delay")} hint={texts.tasks.secondsOrATextSuch}>
              {(props) => <input {...props} value={delay} onChange={(event) => setDelay(event.target.value)} />}
            </Field>
            <details open={OPTION_NAMES.some((option) => at(option) !== null) || undefined}>
              <summary>{texts.tasks.moreOptions}</summary>
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
              {texts.tasks.submit}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
