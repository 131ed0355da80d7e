import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import { Problem } from "@/api/problem";
import type { QueueBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { sentence } from "@/parts/sentence";
import { say } from "@/parts/toasts";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";

/** Pauses a queue, or resumes one that is paused. */
export function PauseButton({
  queue,
  isPage = false,
}: {
  queue: Pick<QueueBody, "name" | "is_paused">;
  /** Whether it is that of the page, which the command menu presses. */
  isPage?: boolean;
}) {
  const [isAsking, setAsking] = useState(false);
  const resume = useResume();
  const me = useMe();
  const mayAct = useMay("queues:control");
  useShortcut("pause", () => {
    if (!isPage) return;
    if (queue.is_paused) resume.mutate(queue.name);
    else setAsking(true);
  });
  if (!mayAct || !isAmong(queue.name, me?.queues ?? [])) return null;
  return (
    <>
      {queue.is_paused ? (
        <Button icon={Play} busy={resume.isPending} onClick={() => resume.mutate(queue.name)}>
          {texts.common.resume}
        </Button>
      ) : (
        <Button icon={Pause} onClick={() => setAsking(true)}>
          {texts.common.pause}
        </Button>
      )}
      {isAsking && <PauseSheet name={queue.name} onClose={() => setAsking(false)} />}
    </>
  );
}

/** Read anew what shows whether a queue is paused. */
function useReload() {
  const client = useQueryClient();
  return (name: string) =>
    Promise.all([["queues"], ["queue", name], ["marks"]].map((queryKey) => client.invalidateQueries({ queryKey })));
}

function useResume() {
  const reload = useReload();
  return useMutation({
    mutationFn: (name: string) => call("POST /api/v1/queues/{name}/resume", { params: { name } }),
    onSuccess: (queue) => say(texts.queues.nameIsResumed(queue.name)),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: (_queue, _error, name) => reload(name),
  });
}

function PauseSheet({ name, onClose }: { name: string; onClose: () => void }) {
  const reload = useReload();
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () =>
      call("POST /api/v1/queues/{name}/pause", { params: { name }, body: reason ? { reason } : undefined }),
    onSuccess: () => {
      say(texts.queues.nameIsPaused(name));
      onClose();
    },
    onSettled: () => reload(name),
  });
  return (
    <Sheet
      title={texts.queues.pauseName(name)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button type="submit" form="pause" tone="primary" busy={pause.isPending}>
            {texts.common.pause}
          </Button>
        </>
      }
    >
      <p>{texts.queues.noNewTasksStartRunning}</p>
      <Form id="pause" error={pause.error} fields={["reason"]} onSubmit={() => pause.mutate()}>
        {(at) => (
          <Field label={texts.common.reason} hint={texts.queues.shownNextToTheQueue} problem={at("reason")}>
            {(props) => (
              <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
            )}
          </Field>
        )}
      </Form>
    </Sheet>
  );
}
