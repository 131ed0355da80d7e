import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { ScheduleBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { say } from "@/parts/toasts";

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
    enabled: start !== "" && end !== "",
  });
  const go = useMutation({
    mutationFn: () => call("POST /api/v1/schedules/{id}/backfill", { params: { id: schedule.id }, body: span }),
    onSuccess: (answer) => {
      say(`${answer.missing.toLocaleString("en")} runs are created`);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedule", schedule.id] }),
  });
  const error = go.error ?? preview.error;
  const missing = preview.data?.missing ?? 0;
  return (
    <Sheet
      title={`Backfill ${schedule.name}`}
      onClose={onClose}
      footer={
        <Button type="submit" form="backfill" tone="primary" busy={go.isPending} disabled={missing === 0}>
          Create {missing.toLocaleString("en")} {missing === 1 ? "run" : "runs"}
        </Button>
      }
    >
      <Form id="backfill" error={error} fields={["start", "end"]} onSubmit={() => go.mutate()}>
        {(at) => (
          <>
            <Field label="From" problem={at("start")}>
              {(props) => (
                <input
                  {...props}
                  required
                  type="datetime-local"
                  value={start}
                  onChange={(event) => setStart(event.target.value)}
                />
              )}
            </Field>
            <Field label="To" problem={at("end")}>
              {(props) => (
                <input
                  {...props}
                  required
                  type="datetime-local"
                  value={end}
                  onChange={(event) => setEnd(event.target.value)}
                />
              )}
            </Field>
            {preview.data && !error && (
              <p>
                {preview.data.count.toLocaleString("en")} fire times, {missing.toLocaleString("en")} of them without a
                run.
              </p>
            )}
          </>
        )}
      </Form>
    </Sheet>
  );
}

function localText(time: number): string {
  const date = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 16);
}
