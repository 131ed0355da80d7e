import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { ScheduleBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Moment } from "@/parts/Moment";
import { Sheet } from "@/parts/Sheet";
import { fromTyped, localZone, typed } from "@/parts/time";
import { say } from "@/parts/toasts";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";

const WRONG = texts.schedule.enterADateAndTime;

/** Make up for fire times of the past that have no run. */
export function BackfillSheet({ schedule, onClose }: { schedule: ScheduleBody; onClose: () => void }) {
  const client = useQueryClient();
  const { zone } = usePreferences();
  const [start, setStart] = useState(typed(Date.now() - 86_400_000, zone));
  const [end, setEnd] = useState(typed(Date.now(), zone));
  const from = fromTyped(start, zone);
  const to = fromTyped(end, zone);
  const span = { start: (from ?? new Date(0)).toISOString(), end: (to ?? new Date(0)).toISOString() };
  const preview = useQuery({
    queryKey: ["backfill", schedule.id, span],
    queryFn: ({ signal }) =>
      call("POST /api/v1/schedules/{id}/backfill", {
        params: { id: schedule.id },
        body: { ...span, dry_run: true },
        signal,
      }),
    retry: false,
    enabled: from !== null && to !== null,
  });
  const go = useMutation({
    mutationFn: () => call("POST /api/v1/schedules/{id}/backfill", { params: { id: schedule.id }, body: span }),
    onSuccess: (answer) => {
      say(texts.schedule.runsCreated(answer.missing));
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedule", schedule.id] }),
  });
  const times = zone === "utc" ? "UTC" : localZone();
  const missing = (from && to && preview.data?.missing) || 0;
  return (
    <Sheet
      title={texts.schedule.backfillName(schedule.name)}
      onClose={onClose}
      footer={
        <Button type="submit" form="backfill" tone="primary" busy={go.isPending} disabled={missing === 0}>
          {missing === 0 ? texts.schedule.createRuns : texts.schedule.createSome(missing)}
        </Button>
      }
    >
      <Form
        id="backfill"
        error={go.error}
        previewError={preview.error}
        fields={["start", "end"]}
        onSubmit={() => go.mutate()}
      >
        {(at) => (
          <>
            <Field label={texts.common.from} hint={times} problem={at("start") ?? (from ? null : WRONG)}>
              {(props) => <Moment {...props} value={start} onChange={setStart} />}
            </Field>
            <Field label={texts.common.to} hint={times} problem={at("end") ?? (to ? null : WRONG)}>
              {(props) => <Moment {...props} value={end} onChange={setEnd} />}
            </Field>
            {preview.data && !go.error && !preview.error && (
              <p>{texts.schedule.fireTimes(preview.data.count, missing)}</p>
            )}
          </>
        )}
      </Form>
    </Sheet>
  );
}
