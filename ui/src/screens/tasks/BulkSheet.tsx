import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { BulkAct, BulkBody, BulkRequest } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { Loading } from "@/parts/States";
import type { TaskSearch } from "@/search";
import { writeSearch } from "@/search";
import { narrowingOf, statusesOf } from "./data";
import css from "./SelectionBar.module.css";

/** Which tasks: those named, or all that match a search at the moment of asking. */
export type Chosen = { ids: string[] } | { search: TaskSearch };
export type Act = Exclude<BulkAct, "discard">;

const WORDS: Record<Act, string> = { retry: "Retry", cancel: "Cancel", reschedule: "Run now" };
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
      title={`${WORDS[act]} ${preview.data ? total.toLocaleString("en") : "…"} task${total === 1 ? "" : "s"}?`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
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
        error={go.error ?? preview.error}
        fields={["rate", "reason"]}
        onSubmit={() => total > 0 && go.mutate()}
      >
        {(at) => (
          <>
            {preview.isPending && <Loading rows={2} />}
            {preview.data && (
              <div>
                <p>
                  {"ids" in chosen ? "The tasks that you selected" : <SearchWords search={chosen.search} act={act} />}.
                  What comes or changes from now on is not among them; what has moved on is left alone.
                </p>
                <ul className={css.samples} aria-label="Some of them">
                  {(preview.data.sample ?? []).slice(0, 5).map((id) => (
                    <li key={id}>
                      <code>{id}</code>
                    </li>
                  ))}
                </ul>
              </div>
            )}
            <Field label="At most per second" hint="Empty for no limit" problem={at("rate")}>
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
            <Field label="Reason" hint="For the audit log" problem={at("reason")}>
              {(props) => (
                <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
              )}
            </Field>
            {mustType && (
              <Field label={`Type ${total} to confirm`}>
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
    retry: "that failed, were cancelled or skipped",
    cancel: "that have not ended",
    reschedule: "that wait",
  };
  return (
    <>
      All tasks {search.status ? "" : `${whole[act]} `}
      {text && (
        <>
          matching <code>{text}</code>
        </>
      )}
    </>
  );
}

/** What to ask the server for. A retry that names no status would mean dead letters only. */
export function requestFor(act: Act, chosen: Chosen): BulkRequest {
  const how = act === "reschedule" ? { act, delay: 0 } : { act };
  if ("ids" in chosen) return { ...how, ids: chosen.ids };
  const status = statusesOf(chosen.search) ?? (act === "retry" ? ["FAILED", "CANCELLED", "SKIPPED"] : undefined);
  const narrowing = Object.fromEntries(
    Object.entries({ ...narrowingOf(chosen.search), status }).filter(([, value]) => value !== undefined),
  );
  return Object.keys(narrowing).length > 0 ? { ...how, filter: narrowing } : { ...how, all: true };
}
