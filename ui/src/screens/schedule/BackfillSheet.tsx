import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { ScheduleBody } from "@/api/types";
import { problemText } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";
import { say } from "@/parts/toasts";
import css from "./Schedule.module.css";

/** Make up for fire times of the past that have no run. */
export function BackfillSheet({ schedule, onClose }: { schedule: ScheduleBody; onClose: () => void }) {
  const client = useQueryClient();
  const [start, setStart] = useState(localText(Date.now() - 86_400_000));
  const [end, setEnd] = useState(localText(Date.now()));
  const span = { start: new Date(start || 0).toISOString(), end: new Date(end || 0).toISOString() };
  const preview = useQuery({
    queryKey: ["backfill", schedule.id, span],
    queryFn: ({ signal }) =>
      call("POST /api/v1/schedules/{id}/backfill", {
        params: { id: schedule.id },
        body: { ...span, dry_run: true },
        signal,
      }),
    retry: false,
  });
  const go = useMutation({
    mutationFn: () => call("POST /api/v1/schedules/{id}/backfill", { params: { id: schedule.id }, body: span }),
    onSuccess: (answer) => {
      say(`${answer.missing.toLocaleString("en")} runs are made up for`);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedule", schedule.id] }),
  });
  const error = go.error ?? preview.error;
  return (
    <Sheet
      title={`Backfill ${schedule.name}`}
      onClose={onClose}
      footer={
        <Button tone="primary" busy={go.isPending} disabled={!preview.data?.missing} onClick={() => go.mutate()}>
          Make {preview.data?.missing.toLocaleString("en") ?? 0} runs
        </Button>
      }
    >
      <Field label="From">
        {(props) => (
          <input {...props} type="datetime-local" value={start} onChange={(event) => setStart(event.target.value)} />
        )}
      </Field>
      <Field label="To">
        {(props) => (
          <input {...props} type="datetime-local" value={end} onChange={(event) => setEnd(event.target.value)} />
        )}
      </Field>
      {preview.data && !error && (
        <p>
          {preview.data.count.toLocaleString("en")} fire times, {preview.data.missing.toLocaleString("en")} of them
          without a run.
        </p>
      )}
      {error && (
        <p role="alert" className={css.problem}>
          {problemText(error)}
        </p>
      )}
    </Sheet>
  );
}

function localText(time: number): string {
  const date = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 16);
}
