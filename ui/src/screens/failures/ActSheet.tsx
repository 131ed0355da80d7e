import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import type { ManyRequest } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { Loading } from "@/parts/States";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";

export type FailureAct = "retry" | "discard";
const OPERATIONS = { retry: "POST /api/v1/failures/retry", discard: "POST /api/v1/failures/discard" } as const;
const TYPED_ABOVE = 100;

interface Props {
  act: FailureAct;
  title: string;
  filter: NonNullable<ManyRequest["filter"]>;
  onClose: () => void;
}

/** Asks before acting on many: how many, which, how fast. The set is frozen when the button is pressed. */
export function ActSheet({ act, title, filter, onClose }: Props) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [rate, setRate] = useState("");
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const preview = useQuery({
    queryKey: ["failures", "preview", act, filter],
    queryFn: () => call(OPERATIONS[act], { body: { filter, dry_run: true } }),
    staleTime: 0,
  });
  const go = useMutation({
    mutationFn: () =>
      call(OPERATIONS[act], {
        body: { filter, ...(rate ? { rate: Number(rate) } : {}), ...(reason ? { reason } : {}) },
      }),
    onSuccess: (bulk) => {
      say(texts.failures.totalOnTheirWay(bulk.total.toLocaleString("en")));
      onClose();
      if (bulk.id) void navigate({ to: "/bulk/$id", params: { id: bulk.id } });
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["failures"] }),
  });
  const total = preview.data?.total ?? 0;
  const mustType = act === "discard" && total > TYPED_ABOVE;
  const word = act === "retry" ? texts.common.retry : texts.failures.discard;
  return (
    <Sheet
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{texts.common.close}</Button>
          <Button
            type="submit"
            form="failures"
            tone={act === "discard" ? "danger" : "primary"}
            busy={go.isPending}
            disabled={total === 0 || (mustType && typed !== String(total))}
          >
            {word} {total.toLocaleString("en")}
          </Button>
        </>
      }
    >
      <Form
        id="failures"
        error={go.error}
        previewError={preview.error}
        fields={["rate", "reason"]}
        onSubmit={() => total > 0 && go.mutate()}
      >
        {(at) => (
          <>
            {preview.isPending && <Loading rows={2} />}
            {preview.data && (
              <p>
                <TextWith
                  text={
                    preview.data.oldest_at ? texts.failures.tasksFromTo(total) : texts.failures.tasksNotLater(total)
                  }
                  values={{
                    from: <Time at={preview.data.oldest_at} />,
                    to: <Time at={preview.data.newest_at} />,
                  }}
                />
              </p>
            )}
            {act === "retry" && (
              <Field label={texts.failures.atMostPerSecond} hint={texts.failures.emptyForNoLimit} problem={at("rate")}>
                {(props) => (
                  <input
                    {...props}
                    type="number"
                    min="0.1"
                    step="any"
                    value={rate}
                    onChange={(event) => setRate(event.target.value)}
                  />
                )}
              </Field>
            )}
            <Field label={texts.common.reason} hint={texts.common.forTheAuditLog} problem={at("reason")}>
              {(props) => (
                <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
              )}
            </Field>
            {mustType && (
              <Field label={texts.failures.typeTotalToConfirm(total)}>
                {(props) => (
                  <input
                    {...props}
                    inputMode="numeric"
                    value={typed}
                    onChange={(event) => setTyped(event.target.value)}
                  />
                )}
              </Field>
            )}
          </>
        )}
      </Form>
    </Sheet>
  );
}
