import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { ABOUT_FAILURES, useRefreshOn } from "@/api/queries";
import type { GroupBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Tabs } from "@/parts/Tabs";
import { Tags } from "@/parts/Tags";
import { Time } from "@/parts/Time";
import { ActSheet, type FailureAct } from "./ActSheet";
import css from "./Failures.module.css";

/** What failed for good, by cause. */
export function Failures() {
  const { sort = "last", ...which } = useSearch({ from: "/failures" });
  const navigate = useNavigate();
  const groups = useInfiniteQuery({
    queryKey: ["failures", "groups", sort, which],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/failures/groups", {
        query: { ...which, sort: sort === "count" ? "count" : "last_seen", limit: 50, cursor: pageParam },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  useRefreshOn(ABOUT_FAILURES, [["failures"]], 2_000);
  const items = groups.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <ScreenHead title="Failures">
        <Tabs
          label="Order"
          tabs={[
            { id: "last", label: "Latest" },
            { id: "count", label: "Most" },
          ]}
          current={sort}
          onChange={(next) => void navigate({ to: "/failures", search: { ...which, sort: next } })}
        />
      </ScreenHead>
      {groups.data === undefined ? (
        <Unloaded of={groups} />
      ) : items.length === 0 ? (
        <Empty title="No failures">
          <p>A task that has used up its retries, or fails permanently, is kept here until somebody deals with it.</p>
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
          More
        </Button>
      )}
    </>
  );
}

function Group({ group }: { group: GroupBody }) {
  const [act, setAct] = useState<FailureAct | null>(null);
  const mayAct = useMay("tasks:control");
  return (
    <article className={css.group}>
      <div className={css.what}>
        <Link to="/failures/$fingerprint" params={{ fingerprint: group.fingerprint }} className={css.kind ?? ""}>
          {group.kind}
        </Link>
        <p className={css.message}>{group.message}</p>
        <p className={css.line}>
          <Tags of={group.names} />
          <span>
            last <Time at={group.last_at} as="relative" />, first <Time at={group.first_at} as="relative" />
          </span>
        </p>
      </div>
      <strong className={css.count}>{group.count.toLocaleString("en")}</strong>
      {mayAct && (
        <div className={css.acts}>
          <Button onClick={() => setAct("retry")}>Retry all</Button>
          <Button tone="danger" onClick={() => setAct("discard")}>
            Discard
          </Button>
        </div>
      )}
      {act && (
        <ActSheet
          act={act}
          title={`${act === "retry" ? "Retry" : "Discard"} ${group.kind}`}
          filter={{ fingerprint: group.fingerprint }}
          onClose={() => setAct(null)}
        />
      )}
    </article>
  );
}
