import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { ABOUT_FAILURES, useRefreshOn } from "@/api/queries";
import type { GroupBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Filters } from "@/parts/Filters";
import { useRemembered } from "@/parts/neighbours";
import { ScreenHead } from "@/parts/Panel";
import { SEEN } from "@/parts/range";
import { SavedViews } from "@/parts/SavedViews";
import { Empty, Unloaded } from "@/parts/States";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { TimeRange } from "@/parts/TimeRange";
import { sinceOf } from "@/screens/tasks/data";
import { termsOf } from "@/search";
import { texts } from "@/texts";
import { ActSheet, type FailureAct } from "./ActSheet";
import css from "./Failures.module.css";
import { GroupState, GroupTrend, RetryFirst, TriageActs } from "./Triage";

const STATES = [
  { id: "active", label: texts.common.active },
  { id: "acknowledged", label: texts.failures.acknowledged },
  { id: "regressed", label: texts.failures.regressed },
  { id: "resolved", label: texts.failures.resolved },
  { id: "ignored", label: texts.failures.ignored },
  { id: "all", label: texts.common.all },
] as const;
type State = (typeof STATES)[number]["id"];

/** What narrows the list besides its state and its terms. */
const NARROWING = ["queue", "name", "kind", "since"] as const;

/** What failed for good, by cause. */
export function Failures() {
  const { sort = "last", state: given, ...which } = useSearch({ from: "/failures" });
  const { since, ...narrowing } = which;
  const state: State = STATES.find(({ id }) => id === given)?.id ?? "active";
  const navigate = useNavigate();
  const groups = useInfiniteQuery({
    queryKey: ["failures", "groups", sort, state, which],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/failures/groups", {
        query: {
          ...narrowing,
          since: since ? sinceOf(since, Date.now()) : undefined,
          ...(state === "all" ? {} : { state }),
          trend: true,
          sort: sort === "count" ? "count" : "last_seen",
          limit: 50,
          cursor: pageParam,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  useRefreshOn(ABOUT_FAILURES, [["failures"]], 2_000);
  const items = groups.data?.pages.flatMap((page) => page.items) ?? [];
  useRemembered(
    "/failures",
    items.map((group) => group.fingerprint),
  );
  return (
    <>
      <ScreenHead title={texts.failures.failures}>
        <TimeRange
          label={texts.common.failed}
          ends={SEEN}
          of={which}
          onChange={(times) => {
            const { filter: _filter, ...rest } = narrowing;
            void navigate({ to: "/failures", search: { ...rest, ...times, state, sort } });
          }}
        />
        <SavedViews
          page="failures"
          filter={termsOf({ queue: which.queue, name: which.name, kind: which.kind, last: since }, which.filter)}
          settings={{ state, sort }}
          onOpen={(filter, settings) =>
            void navigate({ to: "/failures", search: { state, sort, ...settings, ...(filter ? { filter } : {}) } })
          }
        />
        <Tabs
          label={texts.failures.order}
          tabs={[
            { id: "last", label: texts.failures.mostRecent },
            { id: "count", label: texts.failures.mostFrequent },
          ]}
          current={sort}
          onChange={(next) => void navigate({ to: "/failures", search: { ...which, state, sort: next } })}
        />
      </ScreenHead>
      <Tabs
        label={texts.common.state}
        tabs={[...STATES]}
        current={state}
        onChange={(next) => void navigate({ to: "/failures", search: { ...which, sort, state: next } })}
      />
      <Filters to="/failures" search={{ ...which, state, sort }} of={NARROWING} isAlone />
      {groups.data === undefined ? (
        <Unloaded of={groups} />
      ) : items.length === 0 ? (
        <Empty title={emptyTitle(state, Object.keys(which).length > 0)}>
          <p>{texts.failures.aTaskThatHasUsed}</p>
        </Empty>
      ) : (
        <ul className={css.groups}>
          {items.map((group) => (
            <li key={group.fingerprint}>
              <Group group={group} />
            </li>
          ))}
        </ul>
      )}
      {groups.hasNextPage && (
        <Button busy={groups.isFetchingNextPage} onClick={() => void groups.fetchNextPage()}>
          {texts.common.more}
        </Button>
      )}
    </>
  );
}

function emptyTitle(state: State, isNarrowed: boolean): string {
  const which = state === "active" || state === "all" ? "" : `${state} `;
  return isNarrowed ? texts.failures.noneMatch(which) : texts.failures.none(which);
}

function Group({ group }: { group: GroupBody }) {
  const [act, setAct] = useState<FailureAct | null>(null);
  const mayAct = useMay("tasks:control");
  return (
    <article className={css.group}>
      <div className={css.what}>
        <Link
          to="/failures/$fingerprint"
          params={{ fingerprint: group.fingerprint }}
          className={css.kind ?? ""}
          data-row
        >
          {group.kind}
        </Link>
        <p className={css.message}>{group.message}</p>
        {group.example && group.example.message !== group.message && (
          <p className={css.example}>
            <TextWith
              text={texts.failures.forExample}
              values={{
                task: (
                  <Link to="/tasks/$id" params={{ id: group.example.task }}>
                    {group.example.message}
                  </Link>
                ),
              }}
            />
          </p>
        )}
        {group.note && (
          <p className={css.note} title={group.note}>
            {texts.failures.noteIs(group.note)}
          </p>
        )}
        <p className={css.line}>
          <GroupState group={group} />
          <Tags of={group.names} />
          <span>
            <TextWith
              text={texts.failures.lastAndFirst}
              values={{
                last: <Time at={group.last_at} as="relative" />,
                first: <Time at={group.first_at} as="relative" />,
              }}
            />
          </span>
        </p>
      </div>
      <span className={css.amount}>
        <strong className={css.count}>{group.count.toLocaleString("en")}</strong>
        <GroupTrend group={group} />
      </span>
      {mayAct && (
        <div className={css.acts}>
          <TriageActs group={group} />
          <RetryFirst group={group} />
          <Button onClick={() => setAct("retry")}>{texts.failures.retryAll}</Button>
          <Button tone="danger" onClick={() => setAct("discard")}>
            {texts.failures.discard}
          </Button>
        </div>
      )}
      {act && (
        <ActSheet
          act={act}
          title={`${act === "retry" ? texts.common.retry : texts.failures.discard} ${group.kind}`}
          filter={{ fingerprint: group.fingerprint }}
          onClose={() => setAct(null)}
        />
      )}
    </article>
  );
}
