import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { GroupBody, TriageRequest } from "@/api/types";
import { problemText, useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Moment } from "@/parts/Moment";
import { Panel } from "@/parts/Panel";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { Sparkline } from "@/parts/Sparkline";
import { Time } from "@/parts/Time";
import { fromTyped, typed } from "@/parts/time";
import { say } from "@/parts/toasts";
import { usePreferences } from "@/preferences";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import css from "./Triage.module.css";
import { last24 } from "./trend";

const TONES: Record<GroupBody["state"], Tone> = {
  open: "bad",
  regressed: "bad",
  acknowledged: "busy",
  resolved: "good",
  ignored: "none",
};
const CHOSEN = "chosen";
const DAY_MS = 86_400_000;
const IGNORE_FOR = [
  { value: "1h", label: texts.failures.n1Hour },
  { value: "24h", label: texts.failures.n1Day },
  { value: "7d", label: texts.failures.n1Week },
  { value: "30d", label: texts.failures.n30Days },
  { value: CHOSEN, label: texts.failures.untilATime },
];
const TRY_FIRST = 5;

/** Where a group stands, and who takes care of it. */
export function GroupState({ group }: { group: GroupBody }) {
  return (
    <span className={css.state}>
      <Mark tone={TONES[group.state]}>
        {word(group.state)}
        {group.ignored_until && (
          <>
            {texts.failures.until}
            <Time at={group.ignored_until} />
          </>
        )}
      </Mark>
      {group.owner && <span className={css.owner}>{group.owner}</span>}
    </span>
  );
}

/** The last 24 hours of a group. */
export function GroupTrend({ group }: { group: GroupBody }) {
  if (!group.trend) return null;
  return <Sparkline counts={group.trend} label={last24(group.trend)} />;
}

function useDecide(group: GroupBody) {
  return useAct(
    (body: TriageRequest) =>
      call("PATCH /api/v1/failures/groups/{fingerprint}", { params: { fingerprint: group.fingerprint }, body }),
    { done: (answer) => word(answer.state), changes: [["failures"]] },
  );
}

/** Buttons that decide about a group. */
export function TriageActs({ group, isPage = false }: { group: GroupBody; isPage?: boolean }) {
  const decide = useDecide(group);
  const [ignores, setIgnores] = useState(false);
  const mayAct = useMay("tasks:control");
  const isOpen = group.state === "open" || group.state === "regressed";
  useShortcut("acknowledge", () => isPage && isOpen && decide.mutate({ state: "acknowledged" }));
  useShortcut("resolve", () => isPage && group.state !== "resolved" && decide.mutate({ state: "resolved" }));
  if (!mayAct) return null;
  return (
    <>
      {isOpen && (
        <Button busy={decide.isPending} onClick={() => decide.mutate({ state: "acknowledged" })}>
          {texts.failures.acknowledge}
        </Button>
      )}
      {group.state !== "resolved" && (
        <Button busy={decide.isPending} onClick={() => decide.mutate({ state: "resolved" })}>
          {texts.failures.resolve}
        </Button>
      )}
      {isOpen && <Button onClick={() => setIgnores(true)}>{texts.failures.ignore}</Button>}
      {!isOpen && (
        <Button busy={decide.isPending} onClick={() => decide.mutate({ state: "open" })}>
          {texts.failures.reopen}
        </Button>
      )}
      {ignores && (
        <IgnoreSheet
          onClose={() => setIgnores(false)}
          onIgnore={(until) => {
            decide.mutate({ state: "ignored", until });
            setIgnores(false);
          }}
        />
      )}
    </>
  );
}

function IgnoreSheet({ onIgnore, onClose }: { onIgnore: (until: string) => void; onClose: () => void }) {
  const { zone } = usePreferences();
  const [until, setUntil] = useState("24h");
  const [time, setTime] = useState(() => typed(Date.now() + DAY_MS, zone));
  const chosen = fromTyped(time, zone);
  const isPast = until === CHOSEN && (chosen === null || chosen.getTime() <= Date.now());
  return (
    <Sheet
      title={texts.failures.ignoreThisGroup}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{texts.common.close}</Button>
          <Button type="submit" form="ignore" tone="primary" disabled={isPast}>
            {texts.failures.ignore}
          </Button>
        </>
      }
    >
      <Form
        id="ignore"
        error={null}
        fields={[]}
        onSubmit={() => onIgnore(until === CHOSEN && chosen ? chosen.toISOString() : until)}
      >
        {() => (
          <>
            <Field label={texts.failures.ignoreFor} hint={texts.failures.thenItIsOpenAgain}>
              {(props) => <Select {...props} value={until} choices={IGNORE_FOR} onChange={setUntil} />}
            </Field>
            {until === CHOSEN && (
              <Field
                label={texts.failures.ignoreUntil}
                problem={chosen && isPast ? texts.failures.mustBeInTheFuture : null}
              >
                {(props) => <Moment {...props} value={time} onChange={setTime} />}
              </Field>
            )}
          </>
        )}
      </Form>
    </Sheet>
  );
}

/** Retries the latest few of a group, to see whether the rest is worth it. */
export function RetryFirst({ group }: { group: GroupBody }) {
  const retry = useAct(
    async () => {
      const { items } = await call("GET /api/v1/failures", {
        query: { fingerprint: group.fingerprint, limit: TRY_FIRST },
      });
      return call("POST /api/v1/failures/retry", { body: { ids: items.map((failure) => failure.id) } });
    },
    { done: (bulk) => texts.failures.retrying(bulk.total), changes: [["failures"]] },
  );
  const mayAct = useMay("tasks:control");
  if (!mayAct || group.count <= TRY_FIRST) return null;
  return (
    <Button busy={retry.isPending} onClick={() => retry.mutate(undefined)}>
      {texts.failures.retryFirst(TRY_FIRST)}
    </Button>
  );
}

/** Note and owner of a group, to read and to change. */
export function TriagePanel({ group }: { group: GroupBody }) {
  const [note, setNote] = useState(group.note ?? "");
  const [owner, setOwner] = useState(group.owner ?? "");
  const mayAct = useMay("tasks:control");
  const keep = useAct(
    (body: TriageRequest) =>
      call("PATCH /api/v1/failures/groups/{fingerprint}", { params: { fingerprint: group.fingerprint }, body }),
    { done: () => texts.failures.saved, changes: [["failures"]], inDialog: true },
  );
  const isChanged = note !== (group.note ?? "") || owner !== (group.owner ?? "");
  return (
    <Panel title={texts.failures.triage}>
      <p className={css.decided}>
        <GroupState group={group} />
        {group.decided_at && (
          <span>
            {group.decided_by}, <Time at={group.decided_at} as="relative" />
          </span>
        )}
        <GroupTrend group={group} />
        {group.trend && <span>{last24(group.trend)}</span>}
      </p>
      {mayAct ? (
        <Form
          id="triage"
          error={keep.error}
          fields={["note", "owner"]}
          onSubmit={() =>
            keep.mutate(
              { note: note.trim() ? note : null, owner: owner.trim() || null },
              { onError: (error) => say(problemText(error), "problem") },
            )
          }
        >
          {(at) => (
            <div className={css.form}>
              <Field label={texts.common.owner} problem={at("owner")}>
                {(props) => (
                  <input
                    {...props}
                    value={owner}
                    maxLength={255}
                    autoComplete="off"
                    onChange={(event) => setOwner(event.target.value)}
                  />
                )}
              </Field>
              <Field label={texts.failures.note} problem={at("note")}>
                {(props) => (
                  <textarea
                    {...props}
                    rows={2}
                    value={note}
                    maxLength={2000}
                    onChange={(event) => setNote(event.target.value)}
                  />
                )}
              </Field>
              <Button type="submit" form="triage" busy={keep.isPending} disabled={!isChanged}>
                {texts.common.save}
              </Button>
            </div>
          )}
        </Form>
      ) : (
        group.note && <p className={css.note}>{group.note}</p>
      )}
    </Panel>
  );
}
