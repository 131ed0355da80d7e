import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { DeliveryBody, SubscriptionBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { HowTo } from "@/parts/HowTo";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { subscriptionSnippets } from "@/parts/snippets";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import { texts } from "@/texts";
import { NewSubscriptionSheet } from "./NewSubscriptionSheet";
import css from "./Notifications.module.css";

const ACTS = ["subscription.create", "subscription.change", "subscription.delete", "subscription.rotate"];
const SUBSCRIBE = `drumline subscriptions create failures --webhook https://example.com/hook --on task.failed
drumline subscriptions create alerts --email ada@example.com --on 'alert.*'`;

/** Who is told of what, and whether it reached them. */
export function Notifications() {
  const mayWrite = useMay("subscriptions:write");
  const [isMaking, setMaking] = useState(false);
  const subscriptions = useQuery({
    queryKey: ["subscriptions"],
    queryFn: ({ signal }) => call("GET /api/v1/subscriptions", { signal }),
  });
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.notifications.notifications}>
        {mayWrite && (
          <Button icon={Plus} tone="primary" onClick={() => setMaking(true)}>
            {texts.notifications.newSubscription}
          </Button>
        )}
      </ScreenHead>
      <Panel title={texts.notifications.subscriptions} flush>
        {subscriptions.data === undefined ? (
          <Unloaded of={subscriptions} rows={3} />
        ) : subscriptions.data.items.length === 0 ? (
          <Empty title={texts.notifications.noSubscriptionsYet}>
            <p>{texts.notifications.aSubscriptionSendsEventsTo}</p>
          </Empty>
        ) : (
          <Table head={[texts.common.name, texts.notifications.events, texts.common.to, texts.common.state, ""]}>
            {subscriptions.data.items.map((subscription) => (
              <Subscription key={subscription.id} subscription={subscription} mayWrite={mayWrite} />
            ))}
          </Table>
        )}
      </Panel>
      <Deliveries mayWrite={mayWrite} />
      <div className={css.pair}>
        <HowTo title={texts.notifications.howTo} words={texts.notifications.howToWords} code={SUBSCRIBE} />
        <RecentChanges of="subscriptions" acts={ACTS} />
      </div>
      {isMaking && <NewSubscriptionSheet onClose={() => setMaking(false)} />}
    </div>
  );
}

function Subscription({ subscription, mayWrite }: { subscription: SubscriptionBody; mayWrite: boolean }) {
  const { id } = subscription;
  const [isRemoving, setRemoving] = useState(false);
  const changes = [["subscriptions"], ["deliveries"]];
  const test = useAct(() => call("POST /api/v1/subscriptions/{id}/test", { params: { id } }), {
    done: (delivery) => texts.notifications.testIs(delivery.state),
    changes,
  });
  const turn = useAct(
    () => call("PATCH /api/v1/subscriptions/{id}", { params: { id }, body: { enabled: !subscription.enabled } }),
    { changes },
  );
  const remove = useAct(() => call("DELETE /api/v1/subscriptions/{id}", { params: { id } }), {
    done: () => texts.common.isDeleted(subscription.name),
    changes,
    inDialog: true,
  });
  return (
    <tr>
      <th scope="row">{subscription.name}</th>
      <td>{subscription.events.join(", ")}</td>
      <td className={css.target}>{subscription.webhook ?? subscription.email}</td>
      <td className={css.state}>
        {subscription.enabled ? (
          <Mark tone="good">{texts.notifications.enabled}</Mark>
        ) : (
          <Mark tone="warn">{texts.notifications.disabled(subscription.disabled_reason)}</Mark>
        )}
      </td>
      <td>
        <span className={css.acts}>
          {mayWrite && (
            <>
              <Button icon={Send} busy={test.isPending} onClick={() => test.mutate()}>
                {texts.notifications.sendATest}
              </Button>
              <Button busy={turn.isPending} onClick={() => turn.mutate()}>
                {subscription.enabled ? texts.notifications.disable : texts.notifications.enable}
              </Button>
              <Button icon={Trash2} tone="danger" onClick={() => setRemoving(true)}>
                {texts.common.delete}
              </Button>
            </>
          )}
          <CopyAs
            title={texts.common.createName(subscription.name)}
            of={() => subscriptionSnippets(serverUrl(), subscription)}
          />
        </span>
        {isRemoving && (
          <Confirm
            title={texts.common.deleteName(subscription.name)}
            act="Delete"
            busy={remove.isPending}
            error={remove.error}
            onAct={() => remove.mutate()}
            onClose={() => {
              remove.reset();
              setRemoving(false);
            }}
          >
            {texts.notifications.getsNoMore(subscription.webhook ?? subscription.email ?? "")}
          </Confirm>
        )}
      </td>
    </tr>
  );
}

function Deliveries({ mayWrite }: { mayWrite: boolean }) {
  const deliveries = useInfiniteQuery({
    queryKey: ["deliveries"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/deliveries", { query: { limit: 50, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: every(5_000),
  });
  const items = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel title={texts.notifications.deliveries} flush>
      {deliveries.data === undefined ? (
        <Unloaded of={deliveries} rows={3} />
      ) : items.length === 0 ? (
        <Empty title={texts.notifications.noDeliveriesYet} />
      ) : (
        <Table
          head={[
            texts.notifications.when,
            texts.notifications.event,
            texts.common.to,
            texts.common.state,
            texts.common.attempts,
            texts.notifications.answer,
            "",
          ]}
        >
          {items.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} mayWrite={mayWrite} />
          ))}
        </Table>
      )}
      {deliveries.hasNextPage && (
        <p className={css.more}>
          <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
            {texts.common.more}
          </Button>
        </p>
      )}
    </Panel>
  );
}

const STATES: Record<string, Tone> = { delivered: "good", pending: "busy", failed: "bad" };

function Delivery({ delivery, mayWrite }: { delivery: DeliveryBody; mayWrite: boolean }) {
  const resend = useAct(() => call("POST /api/v1/deliveries/{id}/resend", { params: { id: delivery.id } }), {
    done: () => texts.notifications.queuedToBeSentAgain,
    changes: [["deliveries"]],
  });
  const isTask = delivery.event_type.startsWith("drumline.task.");
  return (
    <tr>
      <td>
        <Time at={delivery.created_at} />
      </td>
      <th scope="row">
        {isTask ? (
          <Link to="/tasks/$id" params={{ id: delivery.subject }}>
            {delivery.event_type.replace("drumline.", "")}
          </Link>
        ) : (
          delivery.event_type.replace("drumline.", "")
        )}
      </th>
      <td className={css.target}>{delivery.target}</td>
      <td>
        <Mark tone={STATES[delivery.state] ?? "none"}>{word(delivery.state)}</Mark>
      </td>
      <td>{delivery.attempts}</td>
      <td className={css.target}>
        {delivery.error ??
          (delivery.status ? texts.notifications.httpStatus(delivery.status) : (delivery.response ?? ""))}
      </td>
      <td>
        {mayWrite && delivery.state !== "pending" && (
          <Button tone="quiet" busy={resend.isPending} onClick={() => resend.mutate()}>
            {texts.notifications.sendAgain}
          </Button>
        )}
      </td>
    </tr>
  );
}
