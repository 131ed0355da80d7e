import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { BulkAct, BulkBody, BulkRequest } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { Loading } from "@/parts/States";
import { TextWith } from "@/parts/TextWith";
import type { TaskSearch } from "@/search";
import { writeSearch } from "@/search";
import { texts } from "@/texts";
import { narrowingOf, statusesOf } from "./data";
import css from "./SelectionBar.module.css";

/** Which tasks: those named, or all that match a search at the moment of asking. */
export type Chosen = { ids: string[] } | { search: TaskSearch };
export type Act = Exclude<BulkAct, "discard">;

const WORDS: Record<Act, string> = {
  retry: texts.common.retry,
  cancel: texts.common.cancel,
  reschedule: texts.common.runNow,
};
const TYPED_ABOVE = 100;

interface Props {
  act: Act;
  chosen: Chosen;
  onClose: () => void;
  onBegun: (bulk: BulkBody) => void;
}

/** Asks before acting on many: which, how many, how fast, why. The set is frozen when the button is pressed. */
export function BulkSheet({ act, chosen, onClose, onBegun }: Props) {
  const client = useQueryClient();
  const [rate, setRate] = useState("");
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const request = requestFor(act, chosen);
  const preview = useQuery({
    queryKey: ["bulk", "preview", request],
    queryFn: ({ signal }) => call("POST /api/v1/bulk", { body: { ...request, dry_run: true }, signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const go = useMutation({
    mutationFn: () =>
      call("POST /api/v1/bulk", {
        body: { ...request, ...(rate ? { rate: Number(rate) } : {}), ...(reason ? { reason } : {}) },
      }),
    onSuccess: onBegun,
    onSettled: () => client.invalidateQueries({ queryKey: ["bulk"] }),
  });
  const total = preview.data?.total ?? 0;
  const mustType = act === "cancel" && total > TYPED_ABOVE;
  return (
    <Sheet
      title={texts.tasks.actTotalTaskValue(
        WORDS[act],
        preview.data ? total.toLocaleString("en") : "…",
        total === 1 ? "" : "s",
      )}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{texts.common.close}</Button>
          <Button
            type="submit"
            form="bulk"
            tone={act === "cancel" ? "danger" : "primary"}
            busy={go.isPending}
            disabled={total === 0 || (mustType && typed !== String(total))}
          >
            {WORDS[act]} {total.toLocaleString("en")}
          </Button>
        </>
      }
    >
      <Form
        id="bulk"
        error={go.error}
        previewError={preview.error}
        fields={["rate", "reason"]}
        onSubmit={() => total > 0 && go.mutate()}
      >
        {(at) => (
          <>
            {preview.isPending && <Loading rows={2} />}
            {preview.data && (
              <div>
                <p>
                  {"ids" in chosen ? (
                    texts.tasks.theTasksThatYouSelected
                  ) : (
                    <SearchWords search={chosen.search} act={act} />
                  )}
                  {texts.tasks.laterNotIncluded}
                </p>
                <ul className={css.samples} aria-label={texts.tasks.sample}>
                  {(preview.data.sample ?? []).slice(0, 5).map((id) => (
                    <li key={id}>
                      <code>{id}</code>
                    </li>
                  ))}
                </ul>
              </div>
            )}
            <Field label={texts.tasks.atMostPerSecond} hint={texts.tasks.emptyForNoLimit} problem={at("rate")}>
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
            <Field label={texts.common.reason} hint={texts.common.forTheAuditLog} problem={at("reason")}>
              {(props) => (
                <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
              )}
            </Field>
            {mustType && (
              <Field label={texts.tasks.typeTotalToConfirm(total)}>
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

function SearchWords({ search, act }: { search: TaskSearch; act: Act }) {
  const text = writeSearch(search);
  const whole = {
    retry: texts.tasks.thatFailedWereCancelledOr,
    cancel: texts.tasks.thatHaveNotEnded,
    reschedule: texts.tasks.thatWait,
  };
  return (
    <TextWith
      text={texts.tasks.allTasksMatching(search.status ? "" : whole[act], text !== "")}
      values={{ terms: <code>{text}</code> }}
    />
  );
}

/** What narrows a bulk operation: the terms are its expression. */
function taskFilterOf(search: TaskSearch) {
  const { filter, ...narrowing } = narrowingOf(search);
  return { ...narrowing, expression: filter };
}

/** What to ask the server for. A retry that names no status would mean dead letters only. */
export function requestFor(act: Act, chosen: Chosen): BulkRequest {
  const how = act === "reschedule" ? { act, delay: 0 } : { act };
  if ("ids" in chosen) return { ...how, ids: chosen.ids };
  const status = statusesOf(chosen.search) ?? (act === "retry" ? ["FAILED", "CANCELLED", "SKIPPED"] : undefined);
  const narrowing = Object.fromEntries(
    Object.entries({ ...taskFilterOf(chosen.search), status }).filter(([, value]) => value !== undefined),
  );
  return Object.keys(narrowing).length > 0 ? { ...how, filter: narrowing } : { ...how, all: true };
}
